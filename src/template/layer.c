/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A layer of a text template: the fields of each kind, where they stand in the header, and how the
 * values that a line gives them (value.c) are written there.
 */
#include <stdio.h>
#include <string.h>

#include "template/text.h"
#include "template/value.h"

#define LAYER_FIELDS 12

struct layer_def {
    uint8_t len;
    uint32_t after;   /* bit k: the layer may follow one of kind k */
    bool summed;      /* a checksum that is computed once covers the layer: no field may vary */
    uint8_t fixed[6]; /* the first bytes, as far as no field writes them */
    struct layer_field fields[LAYER_FIELDS]; /* key NULL at the end */
};

const char *const layer_names[LAYER_KINDS] = {
    [LAYER_ARP] = "arp",   [LAYER_ETHER] = "ether", [LAYER_GRE] = "gre",   [LAYER_ICMP] = "icmp",
    [LAYER_IPV4] = "ipv4", [LAYER_IPV6] = "ipv6",   [LAYER_MPLS] = "mpls", [LAYER_PPPOE] = "pppoe",
    [LAYER_UDP] = "udp",   [LAYER_VLAN] = "vlan",
};

#define AFTER(kind) (1u << LAYER_##kind)
#define NUMBER(key_, offset_, size_, lshift_, width_, ...)                                         \
    {                                                                                              \
        .key = key_, .kind = FIELD_NUMBER, .offset = offset_, .size = size_, .lshift = lshift_,    \
        .width = width_, __VA_ARGS__                                                               \
    }
#define IPV4(key_, offset_, ...)                                                                   \
    {                                                                                              \
        .key = key_, .kind = FIELD_IPV4, .offset = offset_, .size = 4, .width = 32, __VA_ARGS__    \
    }
#define IPV6(key_, offset_, ...)                                                                   \
    {                                                                                              \
        .key = key_, .kind = FIELD_IPV6, .offset = offset_, .size = 16, __VA_ARGS__                \
    }
#define MAC(key_, offset_, ...)                                                                    \
    {                                                                                              \
        .key = key_, .kind = FIELD_MAC, .offset = offset_, .size = 4, .width = 32, __VA_ARGS__     \
    }
#define REQUIRED .required = true
/* What may come before IP of either family. */
#define AFTER_IP                                                                                   \
    (AFTER(ETHER) | AFTER(VLAN) | AFTER(PPPOE) | AFTER(MPLS) | AFTER(GRE) | AFTER(IPV4) |          \
     AFTER(IPV6))

static const struct layer_def layer_defs[LAYER_KINDS] = {
    /* RFC 826, for Ethernet and IPv4 */
    [LAYER_ARP] = {.len = 28,
                   .after = AFTER(ETHER) | AFTER(VLAN),
                   .fixed = {0, 1, 8, 0, 6, 4},
                   .fields = {NUMBER("op", 6, 2, 0, 16, .def = 1,
                                     .names = {{"request", 1}, {"reply", 2}}),
                              MAC("sender_mac", 8, REQUIRED), IPV4("sender_ip", 14, REQUIRED),
                              MAC("target_mac", 18), IPV4("target_ip", 24, REQUIRED)}},
    [LAYER_ETHER] = {.len = 14,
                     .fields = {NUMBER("type", 12, 2, 0, 16), MAC("src", 6, REQUIRED),
                                MAC("dst", 0, REQUIRED)}},
    /* RFC 2784, RFC 2890; without a key the header ends after its first word */
    [LAYER_GRE] = {.len = 8,
                   .after = AFTER(IPV4) | AFTER(IPV6),
                   .fixed = {0x20},
                   .fields = {NUMBER("type", 2, 2, 0, 16), NUMBER("key", 4, 4, 0, 32)}},
    /* RFC 792: echo and echo reply */
    [LAYER_ICMP] = {.len = 8,
                    .after = AFTER(IPV4),
                    .summed = true,
                    .fields = {NUMBER("type", 0, 1, 0, 8, .def = 8,
                                      .names = {{"echo", 8}, {"echo_reply", 0}}),
                               NUMBER("code", 1, 1, 0, 8), NUMBER("id", 4, 2, 0, 16),
                               NUMBER("seq", 6, 2, 0, 16)}},
    /* RFC 791 */
    [LAYER_IPV4] = {.len = 20,
                    .after = AFTER_IP,
                    .fixed = {0x45},
                    .fields = {NUMBER("proto", 9, 1, 0, 8), NUMBER("dscp", 1, 1, 2, 6),
                               NUMBER("ecn", 1, 1, 0, 2), NUMBER("id", 4, 2, 0, 16),
                               NUMBER("df", 6, 2, 14, 1), NUMBER("mf", 6, 2, 13, 1),
                               NUMBER("fragment", 6, 2, 0, 13),
                               NUMBER("ttl", 8, 1, 0, 8, .def = 64), IPV4("src", 12, REQUIRED),
                               IPV4("dst", 16, REQUIRED)}},
    /* RFC 8200 */
    [LAYER_IPV6] = {.len = 40,
                    .after = AFTER_IP,
                    .fixed = {0x60},
                    .fields = {NUMBER("next", 6, 1, 0, 8), NUMBER("dscp", 0, 4, 22, 6),
                               NUMBER("ecn", 0, 4, 20, 2), NUMBER("label", 0, 4, 0, 20),
                               NUMBER("hop_limit", 7, 1, 0, 8, .def = 64), IPV6("src", 8, REQUIRED),
                               IPV6("dst", 24, REQUIRED)}},
    /* RFC 3032; text_build_frames() sets the bottom-of-stack bit */
    [LAYER_MPLS] = {.len = 4,
                    .after = AFTER(ETHER) | AFTER(VLAN) | AFTER(MPLS),
                    .fields = {NUMBER("label", 0, 4, 12, 20, REQUIRED), NUMBER("exp", 2, 1, 1, 3),
                               NUMBER("ttl", 3, 1, 0, 8, .def = 64)}},
    /* RFC 2516 section 4, and the protocol of PPP (RFC 1661 section 2) */
    [LAYER_PPPOE] = {.len = 8,
                     .after = AFTER(ETHER) | AFTER(VLAN),
                     .fixed = {0x11},
                     .fields = {NUMBER("protocol", 6, 2, 0, 16),
                                NUMBER("session", 2, 2, 0, 16, REQUIRED)}},
    /* RFC 768 */
    [LAYER_UDP] = {.len = 8,
                   .after = AFTER(IPV4) | AFTER(IPV6),
                   .fields = {NUMBER("src", 0, 2, 0, 16, REQUIRED),
                              NUMBER("dst", 2, 2, 0, 16, REQUIRED)}},
    /* IEEE 802.1Q; the TPID stands where the layer before has its type */
    [LAYER_VLAN] = {.len = 4,
                    .after = AFTER(ETHER) | AFTER(VLAN),
                    .fields = {NUMBER("type", 2, 2, 0, 16),
                               NUMBER("tpid", -2, 2, 0, 16, .def = 0x8100),
                               NUMBER("id", 0, 2, 0, 12, REQUIRED), NUMBER("pcp", 0, 2, 13, 3),
                               NUMBER("dei", 0, 2, 12, 1)}},
};

/* --- fields --- */

/* Set the bits of value in a big-endian number of size bytes, whose other bits stay. */
static void put_bits(uint8_t *at, unsigned size, uint64_t value)
{
    for (unsigned i = 0; i < size; i++)
        at[i] |= (uint8_t)(value >> (8 * (size - 1 - i)));
}

/* Add a field that varies to the template. The constant must leave room for all that the variable
 * adds. */
static void add_field(struct text *x, const char *where, const struct layer *l,
                      const struct layer_field *f, const struct value *v)
{
    const struct template_var *var = &x->t->vars[v->var];
    uint32_t most = var->last >> v->shift;
    uint64_t low = v->base & (f->kind == FIELD_MAC ? UINT32_MAX : UINT64_MAX);
    uint64_t room = (1ull << f->width) - 1;

    if (most > v->mask)
        most = v->mask;
    x->vars_used |= 1u << v->var;
    if (layer_defs[l->kind].summed) {
        BAD(x, "%s may not vary: a checksum covers it", where);
        return;
    }
    if (low + most > room) {
        if (f->kind == FIELD_NUMBER)
            BAD(x, "%s: with %s it reaches %llu, above %llu", where, var->name,
                (unsigned long long)(low + most), (unsigned long long)room);
        else
            BAD(x, "%s: with %s it overflows", where, var->name);
        return;
    }
    if (x->t->n_fields == TEMPLATE_MAX_FIELDS) {
        BAD(x, "%s: more than %u fields that vary", where, TEMPLATE_MAX_FIELDS);
        return;
    }
    x->t->fields[x->t->n_fields++] = (struct template_field){
        .offset = (uint16_t)(l->offset + f->offset + (f->kind == FIELD_MAC ? 2 : 0)),
        .size = f->size,
        .lshift = f->lshift,
        .var = v->var,
        .shift = v->shift,
        .mask = v->mask,
        .base = (uint32_t)low,
    };
}

/* Write an IPv6 address. What varies are the last bits of its prefix, 32 at most, which are a
 * number within four bytes. */
static void set_address6(struct text *x, const char *where, struct layer *l,
                         const struct layer_field *f, const struct value *v)
{
    uint8_t end = (uint8_t)((v->len + 7) / 8), unused = (uint8_t)(end * 8 - v->len);
    struct layer_field part = {.key = f->key,
                               .kind = FIELD_IPV4,
                               .offset = (int8_t)(f->offset + end - 4),
                               .size = 4,
                               .lshift = unused,
                               .width = (uint8_t)(32 - unused)};
    uint8_t *at = x->bytes + l->offset;
    struct value count = *v;

    put_bits(at + f->offset, 8, v->addr.upper);
    put_bits(at + f->offset + 8, 8, v->addr.lower);
    if (!v->varies)
        return;
    l->varies = true;
    at += part.offset;
    count.base =
        ((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]) >> unused;
    memset(at, 0, 3);
    at[3] &= (uint8_t)((1u << unused) - 1);
    add_field(x, where, l, &part, &count);
}

static void set_field(struct text *x, const char *where, struct layer *l,
                      const struct layer_field *f, const struct value *v)
{
    uint8_t *at = x->bytes + l->offset + f->offset;

    if (f->kind == FIELD_IPV6) {
        set_address6(x, where, l, f, v);
    } else if (v->varies) {
        l->varies = true;
        add_field(x, where, l, f, v);
        if (f->kind == FIELD_MAC)
            put_bits(at, 2, v->base >> 32);
    } else if (f->kind == FIELD_MAC) {
        put_bits(at, 6, v->base);
    } else {
        put_bits(at, f->size, v->base << f->lshift);
    }
}

static unsigned n_fields(const struct layer_def *def)
{
    unsigned n = 0;

    while (n < LAYER_FIELDS && def->fields[n].key != NULL)
        n++;
    return n;
}

/* Read the pairs of key and value of a line. Returns false after an error that makes the rest
 * unreadable. */
static bool parse_fields(struct text *x, struct layer *l)
{
    const struct layer_def *def = &layer_defs[l->kind];
    const char *layer = layer_names[l->kind], *names[LAYER_FIELDS], *key;
    unsigned n = n_fields(def);
    char where[64], hint[256];

    for (unsigned i = 0; i < n; i++)
        names[i] = def->fields[i].key;
    while ((key = text_take(x)) != NULL) {
        struct value v;
        unsigned i = 0;

        while (i < n && strcmp(names[i], key) != 0)
            i++;
        if (i == n) {
            BAD(x, "%s has no \"%s\"%s", layer, key, text_hint(key, names, n, hint, sizeof(hint)));
            return false;
        }
        snprintf(where, sizeof(where), "%s: %s", layer, key);
        if (!value_parse(x, where, &def->fields[i], &v))
            return false;
        if (l->given & 1u << i) {
            BAD(x, "%s is given twice", where);
            return false;
        }
        l->given |= 1u << i;
        set_field(x, where, l, &def->fields[i], &v);
    }
    return true;
}

/* Set the fields that the line does not give to their defaults; report those that it must give. */
static void complete_fields(struct text *x, struct layer *l)
{
    const struct layer_def *def = &layer_defs[l->kind];
    unsigned n = n_fields(def);

    for (unsigned i = 0; i < n; i++) {
        const struct layer_field *f = &def->fields[i];

        if (l->given & 1u << i)
            continue;
        if (f->required)
            BAD(x, "%s: %s is missing", layer_names[l->kind], f->key);
        else
            put_bits(x->bytes + l->offset + f->offset, f->kind == FIELD_MAC ? 6 : f->size,
                     (uint64_t)f->def << f->lshift);
    }
}

bool layer_given(const struct layer *l, const char *key)
{
    const struct layer_def *def = &layer_defs[l->kind];
    unsigned n = n_fields(def);

    for (unsigned i = 0; i < n; i++)
        if (strcmp(def->fields[i].key, key) == 0)
            return (l->given & 1u << i) != 0;
    return false;
}

/* May a layer of this kind come next? Returns false after an error. */
static bool good_order(struct text *x, enum layer_kind kind)
{
    const struct layer *prev = x->n_layers > 0 ? &x->layer[x->n_layers - 1] : NULL;
    char list[128] = "";

    if (x->n_layers == TEMPLATE_MAX_LAYERS) {
        BAD(x, "more than %u layers", TEMPLATE_MAX_LAYERS);
        return false;
    }
    if (kind == LAYER_ETHER) {
        if (prev != NULL)
            BAD(x, "ether must be the first layer");
        return prev == NULL;
    }
    if (prev == NULL) {
        BAD(x, "the first layer must be ether, not %s", layer_names[kind]);
        return false;
    }
    if (layer_defs[kind].after & 1u << prev->kind)
        return true;
    for (unsigned i = 0; i < LAYER_KINDS; i++)
        if (layer_defs[kind].after & 1u << i)
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                     list[0] == '\0' ? "" : " or ", layer_names[i]);
    BAD(x, "%s cannot follow %s; it follows %s", layer_names[kind], layer_names[prev->kind], list);
    return false;
}

void layer_parse(struct text *x, enum layer_kind kind)
{
    const struct layer_def *def = &layer_defs[kind];
    struct layer *l = &x->layer[x->n_layers];

    if (!good_order(x, kind))
        return;
    *l = (struct layer){.kind = kind, .loc = x->loc, .offset = x->len, .len = def->len};
    memcpy(x->bytes + l->offset, def->fixed, sizeof(def->fixed));
    /* The TPID of a VLAN tag is written into the type of the layer before, which so must be zero.
     */
    if (kind == LAYER_VLAN && layer_given(&x->layer[x->n_layers - 1], "type"))
        BAD(x, "vlan: the %s before it has a type already; say tpid here instead",
            layer_names[x->layer[x->n_layers - 1].kind]);
    if (parse_fields(x, l))
        complete_fields(x, l);
    if (kind == LAYER_GRE && !layer_given(l, "key")) {
        l->len = 4;
        x->bytes[l->offset] = 0;
    }
    x->len = (uint16_t)(x->len + l->len);
    x->n_layers++;
}
