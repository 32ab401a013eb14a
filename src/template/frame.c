/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of a text template: the layers, completed by what follows from the order of layers and
 * from the size of a frame (types, lengths, checksums), and the payload behind them.
 */
#include <string.h>

#include "template/formats.h"
#include "template/text.h"

static void put16(uint8_t *at, unsigned v)
{
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}

/* Internet checksum (RFC 1071) of bytes whose checksum field is zero. */
static uint16_t checksum(const uint8_t *at, uint32_t len)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < len; i++)
        sum += i % 2 == 0 ? (uint32_t)at[i] << 8 : at[i];
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

/* Write the type of the next layer into each layer for which the file gives no type. */
static void link_layers(struct text *x)
{
    static const uint16_t ethertype[LAYER_KINDS] = {[LAYER_ARP] = 0x0806,
                                                    [LAYER_IPV4] = 0x0800,
                                                    [LAYER_IPV6] = 0x86dd,
                                                    [LAYER_MPLS] = 0x8847,
                                                    [LAYER_PPPOE] = 0x8864};
    static const uint16_t ppp[LAYER_KINDS] = {[LAYER_IPV4] = 0x0021, [LAYER_IPV6] = 0x0057};
    static const uint8_t protocol[LAYER_KINDS] = {
        [LAYER_GRE] = 47, [LAYER_ICMP] = 1, [LAYER_IPV4] = 4, [LAYER_IPV6] = 41, [LAYER_UDP] = 17};

    for (unsigned i = 0; i < x->n_layers; i++) {
        const struct layer *l = &x->layer[i], *next = i + 1 < x->n_layers ? l + 1 : NULL;
        uint8_t *type = x->bytes + l->offset + l->len - 2;
        const char *key = l->kind == LAYER_IPV4    ? "proto"
                          : l->kind == LAYER_IPV6  ? "next"
                          : l->kind == LAYER_PPPOE ? "protocol"
                                                   : "type";

        switch (l->kind) {
        case LAYER_MPLS:
            /* RFC 3032 section 2.1: S is set in the last entry of the stack */
            if (next == NULL || next->kind != LAYER_MPLS)
                x->bytes[l->offset + 2] |= 1;
            continue;
        case LAYER_ETHER:
        case LAYER_VLAN:
            if (next != NULL && next->kind == LAYER_VLAN)
                continue; /* the next tag's TPID stands where the type would */
            break;
        case LAYER_GRE:
            type = x->bytes + l->offset + 2;
            break;
        case LAYER_IPV4:
        case LAYER_IPV6:
        case LAYER_PPPOE:
            break;
        case LAYER_ARP:
        case LAYER_ICMP:
        case LAYER_UDP:
        case LAYER_KINDS:
            continue;
        }
        if (layer_given(l, key))
            continue;
        if (next == NULL)
            diag_error(x->d, l->loc, "%s: nothing follows it; say its %s", layer_names[l->kind],
                       key);
        else if (l->kind == LAYER_IPV4)
            x->bytes[l->offset + 9] = protocol[next->kind];
        else if (l->kind == LAYER_IPV6)
            x->bytes[l->offset + 6] = protocol[next->kind];
        else if (l->kind == LAYER_PPPOE)
            put16(type, ppp[next->kind]);
        else
            put16(type, ethertype[next->kind]);
    }
}

/*
 * Write lengths and checksums; packets end at byte end. The innermost layer comes first, because an
 * outer checksum covers the inner ones. The checksum of an IPv4 header with a field that varies is
 * left to the sender, who computes one for each packet.
 */
static void measure(struct text *x, uint8_t *bytes, uint32_t end)
{
    x->t->n_ipv4 = 0;
    for (unsigned i = x->n_layers; i-- > 0;) {
        const struct layer *l = &x->layer[i];
        uint8_t *h = bytes + l->offset;

        switch (l->kind) {
        case LAYER_UDP:
            put16(h + 4, end - l->offset);
            break;
        case LAYER_PPPOE: /* what follows its own six bytes */
            put16(h + 4, end - l->offset - 6);
            break;
        case LAYER_ICMP:
            put16(h + 2, checksum(h, end - l->offset));
            break;
        case LAYER_IPV6:
            put16(h + 4, end - l->offset - l->len);
            break;
        case LAYER_IPV4:
            put16(h + 2, end - l->offset);
            if (!l->varies)
                put16(h + 10, checksum(h, l->len));
            else if (x->t->n_ipv4 < 2)
                x->t->ipv4_offset[x->t->n_ipv4++] = l->offset;
            else
                diag_error(x->d, l->loc, "ipv4: more than 2 IPv4 headers that vary");
            break;
        default:
            break;
        }
    }
}

static void keep_layers(struct text *x)
{
    x->t->header_len = x->len;
    x->t->padding = (uint16_t)x->padding;
    x->t->n_layers = x->n_layers;
    for (unsigned i = 0; i < x->n_layers; i++)
        x->t->layers[i] =
            (struct template_layer){x->layer[i].kind, x->layer[i].offset, x->layer[i].len};
}

/* Add a frame of size bytes with FCS; errors about the size stand at where. */
static void build_frame(struct text *x, uint32_t size, struct loc where)
{
    uint32_t len = size - FCS_LEN;
    uint32_t end = size <= x->padding ? x->len : len;
    struct template_frame *f;

    if (size < (uint32_t)x->len + FCS_LEN) {
        diag_error(x->d, where, "size %u is too small: the layers need %u bytes with FCS", size,
                   x->len + FCS_LEN);
        return;
    }
    f = template_add_frame(x->t, len, x->loc.file, x->d);
    if (f == NULL)
        return;
    f->payload = (uint16_t)(end - x->len);
    memcpy(f->bytes, x->bytes, x->len);
    for (uint32_t i = x->len; i < end && x->n_pattern > 0; i++)
        f->bytes[i] = x->pattern[(i - x->len) % x->n_pattern];
    measure(x, f->bytes, end);
}

void text_build_frames(struct text *x, const struct frame_sizes *sizes)
{
    if (x->n_layers == 0) {
        if (x->d->n_errors == x->errors_before)
            BAD(x, "there are no layers; the first is: ether src MAC dst MAC");
        return;
    }
    link_layers(x);
    for (unsigned i = 0; i < x->t->n_vars; i++)
        if ((x->vars_used & 1u << i) == 0 && x->d->n_errors == x->errors_before)
            diag_warning(x->d, (struct loc){x->loc.file, x->var_line[i]}, "var %s is not used",
                         x->t->vars[i].name);
    keep_layers(x);
    if (sizes == NULL || sizes->n == 0) {
        if (x->size == 0)
            x->size = x->len + FCS_LEN < TEMPLATE_MIN_SIZE ? TEMPLATE_MIN_SIZE : x->len + FCS_LEN;
        build_frame(x, x->size, x->size_loc);
        return;
    }
    for (unsigned i = 0; i < sizes->n && x->d->n_errors == x->errors_before; i++)
        build_frame(x, sizes->size[i], (struct loc){x->loc.file, 0});
}
