/* SPDX-License-Identifier: BSD-3-Clause */
/* The parser: words, then numbers and addresses, then keywords, then the whole description. */
#include "explain/spec.h"

#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/units.h"

#define ARROW_UTF8 "\xe2\x86\x92"

/** The text that is being read, word by word; blanks stand between words. */
struct reader {
    char *rest;
    struct frame_spec *s;
    char *err;
    size_t err_len;
};

/* Write the reason into err. Returns -EINVAL. */
static int wrong(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int wrong(struct reader *r, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(r->err, r->err_len, fmt, args);
    va_end(args);
    return -EINVAL;
}

static const char *peek(struct reader *r)
{
    r->rest += strspn(r->rest, " ");
    return r->rest;
}

static size_t word_len(const char *text)
{
    return strcspn(text, " ");
}

static const char *next(struct reader *r)
{
    char *word = r->rest + strspn(r->rest, " ");

    r->rest = word + word_len(word);
    if (*r->rest != '\0')
        *r->rest++ = '\0';
    return word;
}

static int take_number(struct reader *r, const char *what, uint64_t last, uint64_t *out)
{
    const char *word = next(r);

    if (parse_count(word, out) != 0 || *out > last)
        return wrong(r, "%s '%.40s': expected 0 to %llu", what, word, (unsigned long long)last);
    return 0;
}

static int take_arrow(struct reader *r, const char *before)
{
    const char *word = next(r);

    return strcmp(word, "->") == 0 ? 0 : wrong(r, "'%.40s' after %s: expected ->", word, before);
}

static int take_address(struct reader *r, const char *what, uint32_t *out)
{
    const char *word = next(r);

    return parse_ipv4(word, out) == 0
               ? 0
               : wrong(r, "%s '%.40s': expected an IPv4 address", what, word);
}

static int take_pair(struct reader *r, uint32_t *source, uint32_t *destination)
{
    int rc = take_address(r, "source", source);

    if (rc == 0)
        rc = take_arrow(r, "the source address");
    return rc == 0 ? take_address(r, "destination", destination) : rc;
}

static int take_address6(struct reader *r, const char *what, struct ipv6 *out)
{
    const char *word = next(r);

    return parse_ipv6(word, out) == 0
               ? 0
               : wrong(r, "%s '%.40s': expected an IPv6 address", what, word);
}

static int take_pair6(struct reader *r, struct ipv6 *source, struct ipv6 *destination)
{
    int rc = take_address6(r, "source", source);

    if (rc == 0)
        rc = take_arrow(r, "the source address");
    return rc == 0 ? take_address6(r, "destination", destination) : rc;
}

/* Is the next word an address of IPv6? Addresses behind it are of its family. */
static bool ipv6_next(struct reader *r)
{
    const char *word = peek(r);

    return memchr(word, ':', word_len(word)) != NULL;
}

/* Take the packet's addresses. */
static int take_addresses(struct reader *r)
{
    struct frame_spec *s = r->s;

    s->has_addresses = true;
    s->is_ipv6 = ipv6_next(r);
    return s->is_ipv6 ? take_pair6(r, &s->source6, &s->destination6)
                      : take_pair(r, &s->source, &s->destination);
}

static bool number_next(struct reader *r)
{
    const char *word = peek(r);

    return isdigit((unsigned char)*word) && memchr(word, '.', word_len(word)) == NULL &&
           memchr(word, ':', word_len(word)) == NULL;
}

/* Tell whether a word is a pair of VLAN ids, "128.256": digits and one dot. */
static bool looks_like_tags(const char *word)
{
    const char *dot = strchr(word, '.');

    return isdigit((unsigned char)*word) && dot != NULL && strchr(dot + 1, '.') == NULL;
}

static int take_tags(struct reader *r)
{
    struct frame_spec *s = r->s;
    const char *word = next(r);

    if (parse_vlan_pair(word, &s->svlan, &s->cvlan) != 0)
        return wrong(r, "'%.40s': expected SVLAN.CVLAN, each up to 4095", word);
    s->tagged = true;
    return 0;
}

/** A keyword; n and at are arguments of its function. */
struct keyword {
    const char *name;
    int (*take)(struct reader *r, const struct keyword *k);
    uint8_t n;
    uint16_t at;
};

/* Take a number up to k->n into the byte at k->at. */
static int take_byte(struct reader *r, const struct keyword *k)
{
    uint64_t value;

    if (take_number(r, k->name, k->n, &value) != 0)
        return -EINVAL;
    ((uint8_t *)r->s)[k->at] = (uint8_t)value;
    return 0;
}

/* An ARP packet of kind k->n. */
static int take_kind(struct reader *r, const struct keyword *k)
{
    r->s->kind = (enum spec_kind)k->n;
    return 0;
}

/* Protocol k->n; ports may follow where it has them: 40000 -> 53. */
static int take_protocol(struct reader *r, const struct keyword *k)
{
    struct frame_spec *s = r->s;
    uint64_t source, destination;

    s->protocol = k->n;
    if (k->n == IPPROTO_ICMP || !number_next(r))
        return 0;
    if (take_number(r, "source port", UINT16_MAX, &source) != 0 ||
        take_arrow(r, "the source port") != 0 ||
        take_number(r, "destination port", UINT16_MAX, &destination) != 0)
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

    if (take_number(r, k->name, SPEC_MAX_FRAME + SPEC_FCS, &size) != 0)
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
            return wrong(r, "%s: expected at most %d labels", k->name, SPEC_MAX_LABELS);
        if (take_number(r, k->name, 0xfffff, &label) != 0)
            return -EINVAL;
        s->label[s->n_labels++] = (uint32_t)label;
    } while (number_next(r));
    return 0;
}

static int take_gre(struct reader *r, const struct keyword *k)
{
    uint64_t key;

    r->s->has_gre = true;
    if (!number_next(r))
        return 0;
    if (take_number(r, k->name, UINT32_MAX, &key) != 0)
        return -EINVAL;
    r->s->has_key = true;
    r->s->key = (uint32_t)key;
    return 0;
}

static int take_tunnel(struct reader *r, const struct keyword *k)
{
    (void)k;
    uint32_t source, destination;

    r->s->has_tunnel = true;
    if (ipv6_next(r))
        return take_pair6(r, &r->s->tunnel_source, &r->s->tunnel_destination);
    if (take_pair(r, &source, &destination) != 0)
        return -EINVAL;
    r->s->tunnel_source = mapped6(source);
    r->s->tunnel_destination = mapped6(destination);
    return 0;
}

/* Take a MAC: of the frame's source where k->n is set, else of its destination. */
static int take_mac(struct reader *r, const struct keyword *k)
{
    const char *word = next(r);

    if (parse_mac(word, k->n ? r->s->from : r->s->to) != 0)
        return wrong(r, "%s '%.40s': expected a MAC address such as 02:00:00:00:00:01", k->name,
                     word);
    *(k->n ? &r->s->has_from : &r->s->has_to) = true;
    return 0;
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Take the rest of the text as bytes; blanks and colons may stand between bytes. */
static int take_hex(struct reader *r, const struct keyword *k)
{
    struct frame_spec *s = r->s;
    const char *p;

    s->kind = SPEC_BYTES;
    for (p = r->rest; *(p += strspn(p, " :")) != '\0'; p += 2) {
        if (!isxdigit((unsigned char)p[0]) || !isxdigit((unsigned char)p[1]))
            return wrong(r, "%s: byte %u is '%.2s': expected two hexadecimal digits", k->name,
                         s->n_bytes, p);
        if (s->n_bytes == SPEC_MAX_FRAME)
            return wrong(r, "%s: expected at most %d bytes", k->name, SPEC_MAX_FRAME);
        s->bytes[s->n_bytes++] = (uint8_t)(hex_digit(p[0]) << 4 | hex_digit(p[1]));
    }
    r->rest += strlen(r->rest);
    return s->n_bytes > 0
               ? 0
               : wrong(r, "%s: expected the bytes of the frame, without its FCS", k->name);
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

static int take_keyword(struct reader *r, const char *word)
{
    const char *names[N_KEYWORDS], *near;

    for (size_t i = 0; i < N_KEYWORDS; i++) {
        if (strcmp(word, keywords[i].name) == 0)
            return keywords[i].take(r, &keywords[i]);
        names[i] = keywords[i].name;
    }
    near = nearest_name(word, names, N_KEYWORDS);
    if (near != NULL)
        return wrong(r, "unknown word '%.40s': did you mean '%s'?", word, near);
    return wrong(r,
                 "unknown word '%.40s': expected SVLAN.CVLAN, SOURCE -> DESTINATION, or a "
                 "keyword such as mpls, gre, dscp, ttl, size, udp, arp, hex",
                 word);
}

/* Take a clause of the description: tags, addresses, or a keyword with its words. */
static int take_clause(struct reader *r)
{
    const char *text = peek(r);
    char word[64];

    snprintf(word, sizeof(word), "%.*s", (int)word_len(text), text);
    if (looks_like_tags(word))
        return take_tags(r);
    if (isdigit((unsigned char)*word) || strchr(word, ':') != NULL)
        return take_addresses(r);
    next(r);
    return take_keyword(r, word);
}

/* Check that the clauses go together. */
static int check(struct reader *r)
{
    const struct frame_spec *s = r->s;

    if (s->kind == SPEC_BYTES)
        return 0;
    if (!s->has_addresses)
        return wrong(r, "expected SOURCE -> DESTINATION, as in 10.0.0.1 -> 8.8.8.8, or hex "
                        "BYTES");
    if (s->kind != SPEC_IP && (s->has_gre || s->n_labels > 0))
        return wrong(r, "ARP has no labels and no tunnel");
    if (s->kind != SPEC_IP && s->is_ipv6)
        return wrong(r, "ARP has IPv4 addresses");
    if (s->is_ipv6 && s->dont_fragment)
        return wrong(r, "df: no router fragments IPv6, and it has no such bit");
    if (s->has_tunnel && !s->has_gre)
        return wrong(r, "tunnel without gre: expected gre, and its key if it has one");
    return 0;
}

/* Copy the description: white space becomes blanks, blanks stand around arrows, and both kinds of
 * arrow become "->". text has room for three times the bytes. */
static void normalise(const char *from, char *text)
{
    for (; *from != '\0'; from++) {
        bool utf8 = strncmp(from, ARROW_UTF8, strlen(ARROW_UTF8)) == 0;

        if (utf8 || strncmp(from, "->", 2) == 0) {
            memcpy(text, " -> ", 4);
            text += 4;
            from += utf8 ? 2 : 1;
        } else {
            *text++ = isspace((unsigned char)*from) ? ' ' : *from;
        }
    }
    *text = '\0';
}

int spec_parse(const char *text, struct frame_spec *s, char *err, size_t len)
{
    struct reader r = {.s = s, .err = err, .err_len = len};
    const char *port;
    char *copy;
    int rc = 0;

    *s = (struct frame_spec){.ttl = 64,
                             .label_ttl = 64,
                             .protocol = IPPROTO_UDP,
                             .source_port = 40000,
                             .destination_port = 40001};
    if (strlen(text) > SPEC_MAX_TEXT)
        return wrong(&r, "the description is longer than %d characters", SPEC_MAX_TEXT);
    copy = malloc(3 * strlen(text) + 1);
    if (copy == NULL)
        return wrong(&r, "no memory");
    normalise(text, copy);
    r.rest = copy;
    port = next(&r);
    if (*port == '\0' || strlen(port) >= sizeof(s->port))
        rc = wrong(&r, "expected PORT first, and then what the frame is");
    else
        memcpy(s->port, port, strlen(port) + 1);
    while (rc == 0 && *peek(&r) != '\0')
        rc = take_clause(&r);
    if (rc == 0)
        rc = check(&r);
    free(copy);
    return rc;
}
