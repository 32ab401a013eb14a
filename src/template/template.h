/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet templates: a frame's bytes and the fields in it that vary from packet to packet. A
 * template is a readable text file of layers (see doc/templates.md) or a pcap, of which each frame
 * is sent in turn. Free of DPDK.
 */
#ifndef TEMPLATE_TEMPLATE_H
#define TEMPLATE_TEMPLATE_H

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

/** A number that changes from packet to packet: first..last, in steps or at random. */
struct template_var {
    char name[32];
    uint32_t first, last; /* both are values of the variable */
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
    LAYER_IPV6,
    LAYER_MPLS,
    LAYER_PPPOE,
    LAYER_UDP,
    LAYER_VLAN,
    LAYER_KINDS,
};

/** One header of the frame. The TPID of a VLAN tag counts to the layer before, whose type it is. */
struct template_layer {
    enum layer_kind kind;
    uint16_t offset; /* bytes from the start of the frame */
    uint8_t len;
};

struct template_frame {
    uint16_t len;     /* bytes without FCS */
    uint16_t payload; /* of len, behind the headers, without Ethernet padding */
    uint8_t *bytes;
};

struct pkt_template {
    const char *path;
    unsigned n_frames; /* a text template has one for each of its sizes */
    struct template_frame *frames;
    unsigned n_layers; /* 0 for a pcap */
    struct template_layer layers[TEMPLATE_MAX_LAYERS];
    uint16_t header_len; /* bytes of all layers, behind which payload or padding begins */
    uint16_t padding;    /* frames of up to this size with FCS have no payload */
    unsigned n_vars, n_fields;
    struct template_var vars[TEMPLATE_MAX_VARS];
    struct template_field fields[TEMPLATE_MAX_FIELDS];
    /* Offsets of the IPv4 headers with a field that varies: the sender computes their checksums for
     * each packet. */
    unsigned n_ipv4;
    uint16_t ipv4_offset[2];
};

/** Lengths of frames with FCS, 64..9022, in the order in which frames of these lengths are sent,
 * over and over. n 0: the template's own size. */
struct frame_sizes {
    unsigned n;
    uint16_t size[FRAME_SIZES_MAX];
};

/**
 * Parse frame sizes: "128", "0" (the template's own), "imix" (the simple one: 64:7,594:4,1518:1),
 * or up to 16 sizes with their shares of the packets, which are spread evenly. The shares, divided
 * by their greatest common divisor, make up at most FRAME_SIZES_MAX packets. Returns 0, -EINVAL
 * (not of this notation) or -ERANGE (a size, a share or their number is out of bounds).
 */
int frame_sizes_parse(const char *text, struct frame_sizes *out);

/**
 * Read a template. A text template has a frame of each of sizes; of its own size where sizes is
 * NULL or has n 0. A pcap keeps the sizes of its frames, so that sizes are an error there. Errors
 * and warnings are added to d, at the template's own file and line. Returns NULL after an error.
 */
struct pkt_template *template_load(const char *path, const struct frame_sizes *sizes,
                                   struct diags *d);

void template_free(struct pkt_template *t);

#endif
