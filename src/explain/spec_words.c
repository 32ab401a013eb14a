/* SPDX-License-Identifier: BSD-3-Clause */
/* The keywords of a frame's description. */
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/diag.h"
#include "base/units.h"
#include "explain/spec_impl.h"

/** n and at mean what the keyword's function makes of them. */
struct keyword {
    const char *name;
    int (*take)(struct reader *r, const struct keyword *k);
    uint8_t n;
    uint16_t at;
};

/* A number up to n, into the byte at. */
static int take_byte(struct reader *r, const struct keyword *k)
{
    uint64_t value;

    if (spec_take_number(r, k->name, k->n, &value) != 0)
        return -EINVAL;
    ((uint8_t *)r->s)[k->at] = (uint8_t)value;
    return 0;
}

/* ARP of kind n. */
static int take_kind(struct reader *r, const struct keyword *k)
{
    r->s->kind = (enum spec_kind)k->n;
    return 0;
}

/* Protocol n; where it has ports they may follow: 40000 -> 53. */
static int take_protocol(struct reader *r, const struct keyword *k)
{
    struct frame_spec *s = r->s;
    uint64_t source, destination;

    s->protocol = k->n;
    if (k->n == IPPROTO_ICMP || !spec_number_next(r))
        return 0;
    if (spec_take_number(r, "source port", UINT16_MAX, &source) != 0 ||
        spec_take_arrow(r, "the source port") != 0 ||
        spec_take_number(r, "destination port", UINT16_MAX, &destination) != 0)
        return -EINVAL;
    s->source_port = (uint16_t)source;
    s->destination_port = (uint16_t)destination;
    return 0;
}

static int take_df(struct reader *r, const struct keyword *k)
{
    (void)k;
    r->s->dont_fragment = true;
    return 0;
}

static int take_size(struct reader *r, const struct keyword *k)
{
    uint64_t size;

    if (spec_take_number(r, k->name, SPEC_MAX_FRAME + SPEC_FCS, &size) != 0)
        return -EINVAL;
    r->s->size = (uint32_t)size;
    return 0;
}

static int take_labels(struct reader *r, const struct keyword *k)
{
    struct frame_spec *s = r->s;
    uint64_t label;

    do {
        if (s->n_labels == SPEC_MAX_LABELS)
            return spec_wrong(r, "%s: expected at most %d labels", k->name, SPEC_MAX_LABELS);
        if (spec_take_number(r, k->name, 0xfffff, &label) != 0)
            return -EINVAL;
        s->label[s->n_labels++] = (uint32_t)label;
    } while (spec_number_next(r));
    return 0;
}

static int take_gre(struct reader *r, const struct keyword *k)
{
    uint64_t key;

    r->s->has_gre = true;
    if (!spec_number_next(r))
        return 0;
    if (spec_take_number(r, k->name, UINT32_MAX, &key) != 0)
        return -EINVAL;
    r->s->has_key = true;
    r->s->key = (uint32_t)key;
    return 0;
}

static int take_tunnel(struct reader *r, const struct keyword *k)
{
    (void)k;
    r->s->has_tunnel = true;
    return spec_take_pair(r, &r->s->tunnel_source, &r->s->tunnel_destination);
}

/* n: the frame's source, else its destination. */
static int take_mac(struct reader *r, const struct keyword *k)
{
    const char *word = spec_next(r);

    if (parse_mac(word, k->n ? r->s->from : r->s->to) != 0)
        return spec_wrong(r, "%s '%.40s': expected a MAC address such as 02:00:00:00:00:01",
                          k->name, word);
    *(k->n ? &r->s->has_from : &r->s->has_to) = true;
    return 0;
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* All the rest; blanks and colons may stand between bytes. */
static int take_hex(struct reader *r, const struct keyword *k)
{
    struct frame_spec *s = r->s;
    const char *p;

    s->kind = SPEC_BYTES;
    for (p = r->rest; *(p += strspn(p, " :")) != '\0'; p += 2) {
        if (!isxdigit((unsigned char)p[0]) || !isxdigit((unsigned char)p[1]))
            return spec_wrong(r, "%s: byte %u is '%.2s': expected two hexadecimal digits", k->name,
                              s->n_bytes, p);
        if (s->n_bytes == SPEC_MAX_FRAME)
            return spec_wrong(r, "%s: expected at most %d bytes", k->name, SPEC_MAX_FRAME);
        s->bytes[s->n_bytes++] = (uint8_t)(hex_digit(p[0]) << 4 | hex_digit(p[1]));
    }
    r->rest += strlen(r->rest);
    return s->n_bytes > 0
               ? 0
               : spec_wrong(r, "%s: expected the bytes of the frame, without its FCS", k->name);
}

static const struct keyword keywords[] = {
    {"arp", take_kind, SPEC_ARP_REQUEST, 0},
    {"arp-reply", take_kind, SPEC_ARP_REPLY, 0},
    {"df", take_df, 0, 0},
    {"dscp", take_byte, 63, offsetof(struct frame_spec, dscp)},
    {"from", take_mac, true, 0},
    {"gre", take_gre, 0, 0},
    {"hex", take_hex, 0, 0},
    {"icmp", take_protocol, IPPROTO_ICMP, 0},
    {"label-ttl", take_byte, UINT8_MAX, offsetof(struct frame_spec, label_ttl)},
    {"mpls", take_labels, 0, 0},
    {"pcp", take_byte, 7, offsetof(struct frame_spec, pcp)},
    {"proto", take_byte, UINT8_MAX, offsetof(struct frame_spec, protocol)},
    {"size", take_size, 0, 0},
    {"tcp", take_protocol, IPPROTO_TCP, 0},
    {"to", take_mac, false, 0},
    {"ttl", take_byte, UINT8_MAX, offsetof(struct frame_spec, ttl)},
    {"tunnel", take_tunnel, 0, 0},
    {"udp", take_protocol, IPPROTO_UDP, 0},
};

#define N_KEYWORDS (sizeof(keywords) / sizeof(keywords[0]))

int spec_take_keyword(struct reader *r, const char *word)
{
    const char *names[N_KEYWORDS], *near;

    for (size_t i = 0; i < N_KEYWORDS; i++) {
        if (strcmp(word, keywords[i].name) == 0)
            return keywords[i].take(r, &keywords[i]);
        names[i] = keywords[i].name;
    }
    near = nearest_name(word, names, N_KEYWORDS);
    if (near != NULL)
        return spec_wrong(r, "unknown word '%.40s': did you mean '%s'?", word, near);
    return spec_wrong(r,
                      "unknown word '%.40s': expected SVLAN.CVLAN, SOURCE -> DESTINATION, or a "
                      "keyword such as mpls, gre, dscp, ttl, size, udp, arp, hex",
                      word);
}
