/* SPDX-License-Identifier: BSD-3-Clause */
/* The description before it is written in one of its forms. Not for others. */
#ifndef CONFIG_DESCRIBE_BUILD_H
#define CONFIG_DESCRIBE_BUILD_H

#include "config/describe.h"
#include "config/plan_build.h"

#define DESCRIBE_MAX_NOTES 64
#define DESCRIBE_NOTE      256
#define PCIE_FIRST_GEN     2
#define PCIE_GENS          4 /* 2.0 to 5.0 */

enum port_kind { KIND_WIRE, KIND_PCI, KIND_VHOST, KIND_OTHER };

/** What faces a port decides how small its frames can be. */
enum port_side { SIDE_OTHER, SIDE_ACCESS, SIDE_CORE };

struct desc_core {
    bool receives, schedules, generates;
    bool rings[PLAN_MAX_CORES]; /* which cores take packets from it over a ring */
};

struct desc_port {
    enum port_kind kind;
    enum port_side side;
    unsigned min_frame;         /* with FCS */
    uint64_t max_pps;           /* line rate of such frames, each direction */
    unsigned card;              /* index in card[], where kind is KIND_PCI */
    bool cores[PLAN_MAX_CORES]; /* which use it */
};

struct desc_card {
    const char *address; /* of one of its functions */
    unsigned n_ports;
    uint64_t bits_per_s;       /* from the device to the host, the busier direction */
    unsigned lanes[PCIE_GENS]; /* fewest that carry it; 0: more than 16 */
};

struct description {
    const struct plan *p;
    struct desc_core core[PLAN_MAX_CORES];
    struct desc_port port[CFG_MAX_PORTS];
    struct desc_card card[CFG_MAX_PORTS];
    unsigned n_cards;
    unsigned threads;        /* hardware threads of a physical core */
    unsigned physical_cores; /* of the layout, without housekeeping */
    unsigned vcpus;          /* hardware threads of the layout, and one for housekeeping */
    unsigned whole_cpus;     /* the same in whole physical cores */
    bool hugepages;
    uint64_t memory;    /* bytes for DPDK: of huge pages, where they are used */
    uint64_t page_size; /* bytes; meaningful with hugepages */
    uint64_t pages;
    uint64_t ordinary; /* bytes of ordinary memory beside or instead */
    uint64_t max_pps;  /* smallest frames through the gateway, all directions */
    unsigned packet_bytes;
    unsigned n_notes;
    char note[DESCRIBE_MAX_NOTES][DESCRIBE_NOTE];
};

/** NULL without memory. */
struct description *describe_make(const struct plan *p);
void describe_free(struct description *d);

void describe_note(struct description *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* describe_smt.c: rule and its application */

/** Does the core set the pace of the whole, so that it wants a physical core alone? */
bool core_wants_alone(const struct description *d, unsigned core);
/** May two cores that do not be siblings? */
bool cores_may_share(const struct description *d, unsigned a, unsigned b);
/** Is b the least harmful sibling of a, which wants to be alone? */
bool core_last_resort(const struct description *d, unsigned a, unsigned b);
void describe_siblings(struct description *d);

/** Does a core on that socket use the port? */
bool port_on_socket(const struct description *d, unsigned port, unsigned socket);

/* describe_pcie.c */
void describe_cards(struct description *d);

/* describe_names.c: words for all forms */
const char *port_kind_name(enum port_kind kind);
const char *port_side_name(enum port_side side);
/** Names of the instances of a core, with commas; buf is returned. */
char *core_tasks(const struct plan *p, unsigned core, char *buf, size_t len);

#endif
