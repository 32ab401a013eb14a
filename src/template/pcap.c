/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A template that is a classic pcap (libpcap's savefile format, pcap-savefile(5)): a file header of
 * 24 bytes, then frames with a header of 16 bytes each, in either byte order, with timestamps in
 * microseconds or nanoseconds. (A template has no use for the timestamps.)
 */
#include <stdio.h>
#include <string.h>

#include "template/formats.h"

#define LINKTYPE_ETHERNET 1

struct pcap {
    struct pkt_template *t;
    FILE *f;
    const char *path;
    struct diags *d;
    bool swapped; /* the file's byte order is not this machine's */
};

static uint32_t number(const struct pcap *p, const uint8_t *at)
{
    uint32_t v;

    memcpy(&v, at, sizeof(v));
    return p->swapped ? __builtin_bswap32(v) : v;
}

#define PCAP_BAD(p, ...) diag_error((p)->d, (struct loc){(p)->path, 0}, __VA_ARGS__)

static bool read_header(struct pcap *p)
{
    uint8_t h[24];
    uint32_t magic, link;

    if (fread(h, 1, sizeof(h), p->f) != sizeof(h)) {
        PCAP_BAD(p, "the pcap ends within its file header");
        return false;
    }
    memcpy(&magic, h, sizeof(magic));
    p->swapped = magic != 0xa1b2c3d4 && magic != 0xa1b23c4d;
    link = number(p, h + 20);
    if ((link & 0xffff) != LINKTYPE_ETHERNET) {
        PCAP_BAD(p, "the pcap's link type is %u; expected Ethernet (%u)", link & 0xffff,
                 LINKTYPE_ETHERNET);
        return false;
    }
    /* Bit 26: the length of the FCS, in bits 28-31, is known. */
    if ((link & 1u << 26) != 0 && link >> 28 != 0) {
        PCAP_BAD(p, "the pcap's frames include their FCS; capture them without");
        return false;
    }
    return true;
}

/* Returns 1 for a frame, 0 at the end of the file, -1 after an error. */
static int read_frame(struct pcap *p)
{
    unsigned nr = p->t->n_frames + 1;
    uint32_t captured, original;
    struct template_frame *frame;
    uint8_t h[16];
    size_t n = fread(h, 1, sizeof(h), p->f);

    if (n == 0 && feof(p->f))
        return 0;
    if (n != sizeof(h)) {
        PCAP_BAD(p, "the pcap ends within the header of frame %u", nr);
        return -1;
    }
    captured = number(p, h + 8);
    original = number(p, h + 12);
    if (captured < original) {
        PCAP_BAD(p, "frame %u is cut off: %u of %u bytes were captured", nr, captured, original);
        return -1;
    }
    if (captured == 0 || captured > TEMPLATE_MAX_FRAME) {
        PCAP_BAD(p, "frame %u has %u bytes; expected 1 to %u", nr, captured, TEMPLATE_MAX_FRAME);
        return -1;
    }
    frame = template_add_frame(p->t, captured, p->path, p->d);
    if (frame == NULL)
        return -1;
    if (fread(frame->bytes, 1, captured, p->f) != captured) {
        PCAP_BAD(p, "the pcap ends within frame %u", nr);
        return -1;
    }
    return 1;
}

bool template_read_pcap(struct pkt_template *t, FILE *f, const char *path, struct diags *d)
{
    struct pcap p = {.t = t, .f = f, .path = path, .d = d};
    int more;

    if (!read_header(&p))
        return false;
    do
        more = read_frame(&p);
    while (more == 1);
    if (more == 0 && t->n_frames == 0) {
        PCAP_BAD(&p, "the pcap has no frames");
        return false;
    }
    return more == 0;
}
