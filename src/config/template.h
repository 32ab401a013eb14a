/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet templates: a frame's bytes and the fields in it that vary from packet to packet. A
 * template is a readable text file of layers (see doc/templates.md) or a pcap, of which each frame
 * is sent in turn. Free of DPDK.
 */
#ifndef CONFIG_TEMPLATE_H
#define CONFIG_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

#define TEMPLATE_MAX_VARS   8
#define TEMPLATE_MAX_FIELDS 16
#define TEMPLATE_MAX_FRAME  9018 /* bytes without FCS */
#define TEMPLATE_MAX_LAYERS 16
#define TEMPLATE_MIN_SIZE   64 /* bytes with FCS */
#define TEMPLATE_MAX_SIZE   (TEMPLATE_MAX_FRAME + 4)
#define FRAME_SIZES_MAX     256

/** A number that changes with each packet: first..last, in steps or at random. */
struct template_var {
    char name[32];
    uint32_t first, last; /* both inside */
    uint32_t step;        /* 0: uniformly random */
};

/**
 * A big-endian field of width bits at byte offset, shifted left by lshift bits within its size
 * bytes: value = base + ((var >> shift) & mask). The bits of the field are zero in the frame.
 */
struct template_field {
    uint16_t offset; /* bytes from the start of the frame */
    uint8_t size;    /* 1, 2 or 4 bytes are read, changed and written */
    uint8_t lshift;
    uint8_t var; /* index in vars[] */
    uint8_t shift;
    uint32_t mask;
    uint32_t base;
};

enum layer_kind {
    LAYER_ARP,
    LAYER_ETHER,
    LAYER_GRE,
    LAYER_ICMP,
    LAYER_IPV4,
    LAYER_MPLS,
    LAYER_UDP,
    LAYER_VLAN,
    LAYER_KINDS,
};

/** One header of the frame. The TPID of a VLAN tag stands where the layer before has its type. */
struct template_layer {
    enum layer_kind kind;
    uint16_t offset; /* bytes from the start of the frame */
    uint8_t len;
};

struct template_frame {
    uint16_t len;     /* bytes without FCS */
    uint16_t payload; /* of them behind the headers and in the packet: padding is not */
    uint8_t *bytes;
};

struct pkt_template {
    const char *path;
    unsigned n_frames; /* of a text template: one for each of its sizes */
    struct template_frame *frames;
    unsigned n_layers; /* 0 for a pcap */
    struct template_layer layers[TEMPLATE_MAX_LAYERS];
    uint16_t header_len; /* of all layers: here the payload, or the padding, begins */
    uint16_t padding;    /* frames of up to this size with FCS have no payload */
    unsigned n_vars, n_fields;
    struct template_var vars[TEMPLATE_MAX_VARS];
    struct template_field fields[TEMPLATE_MAX_FIELDS];
    /* IPv4 headers whose checksum depends on a field: their offsets; each is computed again for
     * each packet */
    unsigned n_ipv4;
    uint16_t ipv4_offset[2];
};

/** Lengths of frames with FCS, 64..9022, in the order in which they are sent, over and over; n 0:
 * what the template says. */
struct frame_sizes {
    unsigned n;
    uint16_t size[FRAME_SIZES_MAX];
};

/**
 * "128", "0" (what the template says), "imix" (the simple one: 64:7,594:4,1518:1), or sizes with
 * their shares of the packets, which are spread evenly: at most 16, together at most 256 after
 * division by what they have in common. Returns 0, -EINVAL or -ERANGE.
 */
int frame_sizes_parse(const char *text, struct frame_sizes *out);

/**
 * Read a template; sizes go before the file's own, NULL or n 0 keeps that (a pcap takes no other).
 * Errors go to d with the template's own file and line; NULL
 * when there was one.
 */
struct pkt_template *template_load(const char *path, const struct frame_sizes *sizes,
                                   struct diags *d);

void template_free(struct pkt_template *t);

#endif
