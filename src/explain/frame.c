/* SPDX-License-Identifier: BSD-3-Clause */
#include "explain/frame.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "packet/arp.h"
#include "packet/ethernet.h"
#include "packet/gre.h"
#include "packet/icmp.h"
#include "packet/icmpv6.h"
#include "packet/mpls.h"
#include "packet/pppoe.h"
#include "packet/qinq.h"

#define TCP_LEN    20
#define UDP_LEN    8
#define IPV4_LEN   20
#define LABEL_LAST 0x100 /* the S bit */

/** A frame under construction; bytes are appended. */
struct builder {
    const struct frame_spec *s;
    const struct cfg_model *m;
    const struct tables *t;
    unsigned port;
    struct tunnel_ends tunnel; /* :: without one */
    uint8_t *at;
    char *err;
    size_t err_len;
};

static int wrong(struct builder *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int wrong(struct builder *b, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(b->err, b->err_len, fmt, args);
    va_end(args);
    return -EINVAL;
}

static int find_port(struct builder *b)
{
    const char *names[CFG_MAX_PORTS], *near;

    for (b->port = 0; b->port < b->m->n_ports; b->port++) {
        names[b->port] = b->m->ports[b->port].name;
        if (strcmp(names[b->port], b->s->port) == 0)
            return 0;
    }
    near = nearest_name(b->s->port, names, b->m->n_ports);
    return wrong(b, "there is no port '%s'%s%s%s", b->s->port, near ? ": did you mean '" : "",
                 near ? near : "", near ? "'?" : "");
}

/* Find the first next hop on the port with the wanted property. Returns NULL without one. */
static const struct nexthop *nexthop_on(const struct builder *b, bool with_gre)
{
    const struct route_table *r = b->t->routes;

    for (uint32_t id = 1; id <= r->n_nexthops; id++) {
        const struct nexthop *nh = &r->nexthop[id];

        if (nh->port == b->port && (with_gre ? nh->has_gre : nh->mac_known))
            return nh;
    }
    return NULL;
}

/* The subscriber of a tagged frame's line, or the empty record. */
static const struct subscriber *on_line(const struct builder *b)
{
    const struct subscriber_table *subs = b->t->subscribers;

    return &subs->record[idmap_get(
        subs->by_vlan, subscriber_vlan_key((uint8_t)b->port, b->s->svlan, b->s->cvlan))];
}

static const uint8_t *source_mac(const struct builder *b)
{
    static const uint8_t somebody[6] = {0x02, 0, 0, 0, 0, 0x01};
    const struct nexthop *nh;

    if (b->s->has_from)
        return b->s->from;
    if (b->s->tagged) {
        const struct subscriber *sub = on_line(b);

        return sub->mac_known ? sub->l2 : somebody;
    }
    nh = nexthop_on(b, false);
    return nh != NULL ? nh->eth : somebody;
}

static const uint8_t *destination_mac(const struct builder *b)
{
    static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

    if (b->s->has_to)
        return b->s->to;
    return b->s->kind == SPEC_ARP_REQUEST ? everybody : b->t->port_mac[b->port];
}

static void put16(struct builder *b, uint16_t host_order)
{
    store16(b->at, net16(host_order));
    b->at += 2;
}

static void put32(struct builder *b, uint32_t host_order)
{
    store32(b->at, net32(host_order));
    b->at += 4;
}

static void put_ethernet(struct builder *b, uint16_t type)
{
    const struct frame_spec *s = b->s;

    memcpy(b->at, destination_mac(b), 6);
    memcpy(b->at + 6, source_mac(b), 6);
    b->at += ETH_MACS;
    if (s->tagged) {
        put16(b, b->m->ports[b->port].tpid);
        put16(b, (uint16_t)(s->pcp << 13 | s->svlan));
        put16(b, TPID_C);
        put16(b, (uint16_t)(s->pcp << 13 | s->cvlan));
    }
    put16(b, type);
}

static void put_ipv4(struct builder *b, uint32_t from, uint32_t to, uint8_t protocol, uint32_t len)
{
    struct rte_ipv4_hdr ip = {
        .version_ihl = RTE_IPV4_VHL_DEF,
        .type_of_service = (uint8_t)(b->s->dscp << 2),
        .total_length = net16((uint16_t)len),
        .fragment_offset = b->s->dont_fragment ? RTE_BE16(RTE_IPV4_HDR_DF_FLAG) : 0,
        .time_to_live = b->s->ttl,
        .next_proto_id = protocol,
        .src_addr = net32(from),
        .dst_addr = net32(to),
    };

    ip.hdr_checksum = rte_ipv4_cksum(&ip);
    memcpy(b->at, &ip, sizeof(ip));
    b->at += sizeof(ip);
}

static void put_ipv6(struct builder *b, struct ipv6 from, struct ipv6 to, uint8_t protocol,
                     uint32_t payload)
{
    struct ipv6_hdr ip = {.first = {0x60},
                          .payload_length = net16((uint16_t)payload),
                          .next_header = protocol,
                          .hop_limit = b->s->ttl};

    ipv6_set_dscp(&ip, b->s->dscp);
    ipv6_put(ip.source, from);
    ipv6_put(ip.destination, to);
    memcpy(b->at, &ip, sizeof(ip));
    b->at += sizeof(ip);
}

/* Find the ends of the frame's tunnel, as those of a packet from the far end: those of the first
 * tunnel by the port, if the frame does not say any. */
static int find_tunnel(struct builder *b)
{
    const struct frame_spec *s = b->s;
    const struct nexthop *nh = nexthop_on(b, true);

    if (!s->has_gre)
        return 0;
    if (!s->has_tunnel && nh == NULL)
        return wrong(b,
                     "gre: no route has a tunnel by port %s: expected also tunnel SOURCE -> "
                     "DESTINATION",
                     b->m->ports[b->port].name);
    b->tunnel = s->has_tunnel
                    ? (struct tunnel_ends){.ours = s->tunnel_destination, .far = s->tunnel_source}
                    : nexthop_ends(nh);
    return 0;
}

static uint32_t gre_header(const struct frame_spec *s)
{
    return s->has_key ? GRE_KEY_LEN : GRE_LEN;
}

/* Append the headers of the tunnel before a packet of len bytes. */
static void put_tunnel(struct builder *b, uint32_t len)
{
    const struct frame_spec *s = b->s;
    struct tunnel_ends t = b->tunnel;

    len += gre_header(s);
    if (is_mapped6(t.far))
        put_ipv4(b, (uint32_t)t.far.lower, (uint32_t)t.ours.lower, IPPROTO_GRE, IPV4_LEN + len);
    else
        put_ipv6(b, t.far, t.ours, IPPROTO_GRE, len);
    put16(b, s->has_key ? GRE_HAS_KEY : 0);
    put16(b, s->is_ipv6 ? GRE_PROTO_IPV6 : GRE_PROTO_IPV4);
    if (s->has_key)
        put32(b, s->key);
}

/* Append the transport header. The checksum of ICMP is right, that of UDP is 0 (none; of IPv6
 * wrong); a TCP segment is a SYN without checksum, as no task reads it. */
static void put_payload(struct builder *b, uint32_t len)
{
    const struct frame_spec *s = b->s;
    uint8_t *p = b->at;

    memset(p, 0, len);
    switch (s->protocol) {
    case IPPROTO_UDP:
        put16(b, s->source_port);
        put16(b, s->destination_port);
        put16(b, (uint16_t)len);
        break;
    case IPPROTO_TCP:
        put16(b, s->source_port);
        put16(b, s->destination_port);
        p[12] = TCP_LEN / 4 << 4;
        p[13] = 0x02;
        break;
    case IPPROTO_ICMP:
        if (s->is_ipv6) {
            p[0] = ICMPV6_ECHO_REQUEST;
            icmpv6_seal((const struct ipv6_hdr *)(p - IPV6_LEN), p, len);
            break;
        }
        p[0] = ICMP_ECHO_REQUEST;
        store16(p + 2, (uint16_t)~rte_raw_cksum(p, len));
        break;
    }
    b->at = p + len;
}

static uint32_t payload_header(uint8_t protocol)
{
    switch (protocol) {
    case IPPROTO_UDP:
    case IPPROTO_ICMP:
        return UDP_LEN;
    case IPPROTO_TCP:
        return TCP_LEN;
    default:
        return 0;
    }
}

static int put_arp(struct builder *b)
{
    const struct frame_spec *s = b->s;
    bool reply = s->kind == SPEC_ARP_REPLY;

    put_ethernet(b, RTE_ETHER_TYPE_ARP);
    arp_write((struct rte_arp_hdr *)b->at, reply ? RTE_ARP_OP_REPLY : RTE_ARP_OP_REQUEST,
              source_mac(b), net32(s->source), reply ? destination_mac(b) : NULL,
              net32(s->destination));
    b->at += ARP_LEN;
    return 0;
}

static int put_ip_frame(struct builder *b)
{
    const struct frame_spec *s = b->s;
    bool over_ipv6 = s->has_gre ? !is_mapped6(b->tunnel.far) : s->is_ipv6;
    uint32_t tunnel = s->has_gre ? (over_ipv6 ? IPV6_LEN : IPV4_LEN) + gre_header(s) : 0;
    uint32_t header = s->is_ipv6 ? IPV6_LEN : IPV4_LEN;
    rte_be16_t session = s->tagged ? on_line(b)->session : 0;
    uint32_t before = (session != 0 ? PPPOE_QINQ_LEN
                       : s->tagged  ? QINQ_LEN
                                    : ETH_LEN) +
                      s->n_labels * MPLS_ENTRY_LEN + tunnel;
    uint32_t least = before + header + payload_header(s->protocol), payload;

    if (s->size != 0 && s->size < RTE_MAX(least, (uint32_t)ETH_MIN_LEN) + SPEC_FCS)
        return wrong(b, "size %u: expected %u or more, for the headers and the FCS", s->size,
                     RTE_MAX(least, (uint32_t)ETH_MIN_LEN) + SPEC_FCS);
    payload = payload_header(s->protocol) + (s->size != 0 ? s->size - SPEC_FCS - least : 0);
    put_ethernet(b, session != 0      ? PPPOE_TYPE
                    : s->n_labels > 0 ? MPLS_TYPE
                    : over_ipv6       ? RTE_ETHER_TYPE_IPV6
                                      : RTE_ETHER_TYPE_IPV4);
    if (session != 0) {
        pppoe_write(b->at, session, s->is_ipv6 ? PPP_IPV6 : PPP_IPV4,
                    before - PPPOE_QINQ_LEN + header + payload);
        b->at += PPPOE_PPP_LEN;
    }
    for (unsigned i = 0; i < s->n_labels; i++)
        put32(b, s->label[i] << 12 | (i + 1 == s->n_labels ? LABEL_LAST : 0) | s->label_ttl);
    if (s->has_gre)
        put_tunnel(b, header + payload);
    if (s->is_ipv6)
        put_ipv6(b, s->source6, s->destination6,
                 s->protocol == IPPROTO_ICMP ? IPPROTO_ICMPV6 : s->protocol, payload);
    else
        put_ipv4(b, s->source, s->destination, s->protocol, IPV4_LEN + payload);
    put_payload(b, payload);
    return 0;
}

int frame_build(const struct frame_spec *s, const struct cfg_model *m, const struct tables *t,
                unsigned *port, uint8_t *frame, uint32_t *len, char *err, size_t err_len)
{
    struct builder b = {.s = s, .m = m, .t = t, .at = frame, .err = err, .err_len = err_len};
    int rc = find_port(&b);

    *port = b.port;
    if (rc != 0)
        return rc;
    if (s->kind == SPEC_BYTES) {
        memcpy(frame, s->bytes, s->n_bytes);
        *len = s->n_bytes;
        return 0;
    }
    rc = s->kind == SPEC_IP ? find_tunnel(&b) : 0;
    if (rc == 0)
        rc = s->kind == SPEC_IP ? put_ip_frame(&b) : put_arp(&b);
    *len = (uint32_t)(b.at - frame);
    if (rc == 0 && *len < ETH_MIN_LEN) {
        memset(b.at, 0, ETH_MIN_LEN - *len);
        *len = ETH_MIN_LEN;
    }
    return rc;
}
