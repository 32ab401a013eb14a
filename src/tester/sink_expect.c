/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/sink_expect.h"

#include <string.h>

#define USER       "user"
#define IPV4_SRC   12 /* in its header; the other address follows */
#define IPV4_ADDRS 8
#define IPV6_SRC   8
#define IPV6_ADDRS 32
#define ETHER_TYPE 12

/* Bits of a kind, as bytes of the frame, while they are collected. */
struct bits {
    uint8_t form[EXPECT_WORDS * 8], kind[N_WRONG][EXPECT_WORDS * 8];
};

/* What is compared of a layer where nothing varies. */
static void add_layer(struct bits *b, const struct template_layer *l)
{
    const unsigned at = l->offset;

    switch (l->kind) {
    case LAYER_ETHER:
        memset(b->form + at + ETHER_TYPE, 0xff, 2);
        break;
    case LAYER_VLAN:
        b->kind[WRONG_TAGS][at] = 0x0f;
        b->kind[WRONG_TAGS][at + 1] = 0xff;
        memset(b->form + at + 2, 0xff, 2);
        break;
    case LAYER_MPLS:
        memcpy(b->kind[WRONG_OTHER] + at, "\xff\xff\xf1", 3);
        break;
    case LAYER_IPV4:
        b->kind[WRONG_OTHER][at] = 0xff;
        b->kind[WRONG_DSCP][at + 1] = 0xfc;
        b->kind[WRONG_OTHER][at + 9] = 0xff;
        memset(b->kind[WRONG_OTHER] + at + IPV4_SRC, 0xff, IPV4_ADDRS);
        break;
    case LAYER_IPV6: /* but for ECN, length and hop limit */
        memcpy(b->kind[WRONG_DSCP] + at, "\x0f\xc0", 2);
        memcpy(b->kind[WRONG_OTHER] + at, "\xf0\x0f\xff\xff", 4);
        b->kind[WRONG_OTHER][at + 6] = 0xff;
        memset(b->kind[WRONG_OTHER] + at + IPV6_SRC, 0xff, IPV6_ADDRS);
        break;
    case LAYER_GRE:
        if (l[-1].kind == LAYER_IPV6) /* the flow label of a tunnel is the gateway's: RFC 6438 */
            memcpy(b->kind[WRONG_OTHER] + l[-1].offset, "\xf0\0\0", 4);
        memset(b->kind[WRONG_OTHER] + at, 0xff, 4);
        memset(b->kind[WRONG_KEY] + at + 4, 0xff, l->len - 4u);
        break;
    case LAYER_PPPOE: /* but for the length */
        memset(b->kind[WRONG_OTHER] + at, 0xff, 2);
        memset(b->kind[WRONG_KEY] + at + 2, 0xff, 2);
        memset(b->form + at + 6, 0xff, 2);
        break;
    case LAYER_UDP:
        memset(b->kind[WRONG_OTHER] + at, 0xff, 4);
        break;
    case LAYER_ARP:
    case LAYER_ICMP:
    case LAYER_KINDS:
        break;
    }
}

static const struct template_layer *layer_at(const struct pkt_template *t, unsigned offset)
{
    const struct template_layer *l = t->layers;

    while (l + 1 < t->layers + t->n_layers && l[1].offset <= offset)
        l++;
    return l;
}

/* An address that varies with the variable "user" names the subscriber. */
static void add_subscriber(struct bits *b, const struct pkt_template *t,
                           const struct template_field *f)
{
    const struct template_layer *l = layer_at(t, f->offset);
    const unsigned in = f->offset - l->offset;

    if ((l->kind == LAYER_ETHER && in < ETHER_TYPE) ||
        (l->kind == LAYER_IPV4 && in >= IPV4_SRC && in < IPV4_SRC + IPV4_ADDRS) ||
        (l->kind == LAYER_IPV6 && in >= IPV6_SRC && in < IPV6_SRC + IPV6_ADDRS)) {
        memset(b->kind[WRONG_OTHER] + f->offset, 0, f->size);
        memset(b->kind[WRONG_SUBSCRIBER] + f->offset, 0xff, f->size);
    }
}

/* A field that varies with another variable than "user" cannot be predicted: leave out all bits
 * that the variable can reach. */
static void leave_out(struct bits *b, const struct pkt_template *t, const struct template_field *f)
{
    const uint32_t most = t->vars[f->var].last >> f->shift;
    uint64_t reach = (uint64_t)f->base + (most < f->mask ? most : f->mask);

    for (unsigned s = 1; s < 64; s *= 2)
        reach |= reach >> s;
    reach <<= f->lshift;
    for (unsigned i = 0; i < f->size; i++) {
        const uint8_t keep = (uint8_t) ~(reach >> (8 * (f->size - 1u - i)));

        b->form[f->offset + i] &= keep;
        for (unsigned k = 0; k < N_WRONG; k++)
            b->kind[k][f->offset + i] &= keep;
    }
}

static void add_pieces(struct expect *e, const struct template_field *f)
{
    const unsigned end = f->offset % 8u + f->size, word = f->offset / 8u;
    struct expect_piece p = {.word = (uint8_t)word,
                             .shift = f->shift,
                             .mask = f->mask,
                             .base = f->base,
                             .up = f->lshift};

    if (end > 8) {
        p.down = (uint8_t)(8 * (end - 8));
        e->piece[e->n_pieces++] = p;
        p.down = 0;
        p.word++;
        p.up = (uint8_t)(p.up + 8 * (16 - end));
    } else {
        p.up = (uint8_t)(p.up + 8 * (8 - end));
    }
    if (p.up < 64)
        e->piece[e->n_pieces++] = p;
}

static void add_field(struct expect *e, struct bits *b, const struct pkt_template *t,
                      const struct template_field *f)
{
    const struct template_var *v = &t->vars[f->var];

    if (strcmp(v->name, USER) != 0) {
        leave_out(b, t, f);
        return;
    }
    e->by_user = true;
    e->first = v->first;
    e->last = v->last;
    add_subscriber(b, t, f);
    add_pieces(e, f);
}

void expect_check(const struct pkt_template *t, struct loc loc, struct diags *d)
{
    if (t->n_layers == 0)
        diag_error(
            d, loc,
            "key 'expect': a pcap (%s): expected a text template, which says what its fields "
            "are",
            t->path);
    if (t->header_len > STAMP_LAST)
        diag_error(d, loc, "key 'expect': %u bytes of headers (%s): expected at most %u",
                   t->header_len, t->path, STAMP_LAST);
}

void expect_init(struct expect *e, const struct pkt_template *t)
{
    struct bits b = {0};

    e->header_len = t->header_len;
    e->n_words = (uint16_t)((t->header_len + 7u) / 8);
    e->last = UINT32_MAX;
    for (unsigned i = 0; i < t->n_layers; i++)
        add_layer(&b, &t->layers[i]);
    for (unsigned i = 0; i < t->n_fields; i++)
        add_field(e, &b, t, &t->fields[i]);
    memcpy(e->bytes, t->frames[0].bytes, t->header_len);
    memcpy(e->form, b.form, sizeof(e->form));
    memcpy(e->kind, b.kind, sizeof(e->kind));
    for (unsigned i = 0; i < e->n_words; i++) {
        e->mask[i] = e->form[i];
        for (unsigned k = 0; k < N_WRONG; k++)
            e->mask[i] |= e->kind[k][i];
    }
}

static bool differs(const struct expect *e, const uint64_t *diff, const uint64_t *mask)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < e->n_words; i++)
        any |= diff[i] & mask[i];
    return any != 0;
}

unsigned expect_explain(const struct expect *e, const uint64_t *diff, uint32_t stamp_at)
{
    unsigned wrong = 0;

    if (differs(e, diff, e->form))
        return 1u << WRONG_TAGS;
    if (stamp_at != e->header_len)
        return 1u << WRONG_OTHER;
    for (unsigned k = 0; k < N_WRONG; k++)
        if (differs(e, diff, e->kind[k]))
            wrong |= 1u << k;
    return wrong;
}
