/* SPDX-License-Identifier: BSD-3-Clause */
#include "explain/headers.h"

#include <inttypes.h>
#include <netinet/in.h>

#include <rte_ip.h>

#include "base/units.h"
#include "packet/arp.h"
#include "packet/ethernet.h"
#include "packet/gre.h"
#include "packet/icmpv6.h"
#include "packet/ipv6.h"
#include "packet/mpls.h"
#include "packet/pppoe.h"
#include "packet/qinq.h"

#define FCS         4
#define MOST_LABELS 16

/** The part of the frame that has not been read yet. */
struct rest {
    FILE *to;
    const uint8_t *p;
    uint32_t len;
};

static uint16_t take16(struct rest *r)
{
    uint16_t v = net16(load16(r->p));

    r->p += 2;
    r->len -= 2;
    return v;
}

static void skip(struct rest *r, uint32_t n)
{
    r->p += n;
    r->len -= n;
}

static void print_address(FILE *to, rte_be32_t address)
{
    char text[32];

    fputs(format_ipv4(net32(address), text, sizeof(text)), to);
}

static void print_mac(FILE *to, const uint8_t *mac)
{
    char text[32];

    fputs(format_mac(mac, text, sizeof(text)), to);
}

/* Print all VLAN tags. Returns the EtherType behind them, or 0 where the frame ends. */
static uint16_t print_ethernet(struct rest *r)
{
    uint16_t type;

    if (r->len < ETH_LEN)
        return 0;
    fputs("eth ", r->to);
    print_mac(r->to, r->p + 6);
    fputs(" -> ", r->to);
    print_mac(r->to, r->p);
    skip(r, ETH_MACS);
    type = take16(r);
    while ((type == TPID_S || type == TPID_C) && r->len >= 4) {
        unsigned tci = take16(r);

        fprintf(r->to, " | %04x %u", type, tci & 0xfff);
        if (tci >> 13 != 0)
            fprintf(r->to, " pcp %u", tci >> 13);
        type = take16(r);
    }
    return type;
}

/* Print the label stack. Returns whether its bottom was there. */
static bool print_labels(struct rest *r)
{
    for (unsigned i = 0; i < MOST_LABELS && r->len >= MPLS_ENTRY_LEN; i++) {
        uint32_t entry = net32(load32(r->p));

        skip(r, MPLS_ENTRY_LEN);
        fprintf(r->to, " | mpls %" PRIu32 " tc %" PRIu32 " ttl %u", mpls_label(entry),
                entry >> 9 & 7, mpls_ttl(entry));
        if (mpls_is_bottom(entry))
            return true;
    }
    return false;
}

static void print_arp(struct rest *r)
{
    const struct rte_arp_hdr *arp = (const struct rte_arp_hdr *)r->p;

    if (!arp_is_valid(arp, r->len)) {
        fputs(" | arp, malformed", r->to);
    } else if (arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REQUEST)) {
        fputs(" | arp who has ", r->to);
        print_address(r->to, arp->arp_data.arp_tip);
        fputs(" tell ", r->to);
        print_address(r->to, arp->arp_data.arp_sip);
    } else {
        fputs(" | arp ", r->to);
        print_address(r->to, arp->arp_data.arp_sip);
        fputs(" is at ", r->to);
        print_mac(r->to, arp->arp_data.arp_sha.addr_bytes);
    }
}

static void print_fragment(FILE *to, uint16_t bits)
{
    unsigned offset = (bits & RTE_IPV4_HDR_OFFSET_MASK) * 8u;

    if ((bits & RTE_IPV4_HDR_DF_FLAG) != 0)
        fputs(" df", to);
    if (offset != 0 || (bits & RTE_IPV4_HDR_MF_FLAG) != 0)
        fprintf(to, " fragment at %u%s", offset, (bits & RTE_IPV4_HDR_MF_FLAG) != 0 ? "+" : "");
}

/* Print the IPv4 header. Returns the protocol that follows, or -1 where none can. */
static int print_ipv4(struct rest *r)
{
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)r->p;
    uint32_t header;
    uint16_t bits;

    if (r->len < sizeof(*ip) || ip->version_ihl >> 4 != 4 ||
        (header = rte_ipv4_hdr_len(ip)) < sizeof(*ip) || header > r->len) {
        fputs(" | ipv4, malformed", r->to);
        return -1;
    }
    fputs(" | ipv4 ", r->to);
    print_address(r->to, ip->src_addr);
    fputs(" -> ", r->to);
    print_address(r->to, ip->dst_addr);
    fprintf(r->to, " ttl %u", ip->time_to_live);
    if (ip->type_of_service >> 2 != 0)
        fprintf(r->to, " dscp %u", ip->type_of_service >> 2);
    bits = net16(ip->fragment_offset);
    print_fragment(r->to, bits);
    skip(r, header);
    return (bits & RTE_IPV4_HDR_OFFSET_MASK) == 0 ? ip->next_proto_id : -1;
}

static void print_address6(FILE *to, const uint8_t *address)
{
    char text[IPV6_TEXT];

    fputs(format_ipv6(ipv6_of(address), text), to);
}

static const char *extension_name(int header)
{
    switch (header) {
    case IPPROTO_HOPOPTS:
        return "hop-by-hop options";
    case IPPROTO_ROUTING:
        return "routing header";
    case IPPROTO_DSTOPTS:
        return "destination options";
    case IPPROTO_FRAGMENT:
        return "fragment";
    case IPPROTO_AH:
        return "authentication header";
    case IPPROTO_MH:
        return "mobility header";
    }
    return NULL;
}

/* Print extension headers, IPV6_MOST_EXT at most. Returns the protocol that follows, or -1 where
 * none can. */
static int print_extensions(struct rest *r, int header)
{
    const char *name;

    for (unsigned i = 0; i < IPV6_MOST_EXT && (name = extension_name(header)) != NULL; i++) {
        uint32_t len = header == IPPROTO_FRAGMENT ? 8 : r->len < 2 ? 8 : 8 + r->p[1] * 8u;

        if (header == IPPROTO_AH && r->len >= 2) /* RFC 4302 section 2.2 */
            len = 8 + r->p[1] * 4u;
        fprintf(r->to, " | %s", name);
        if (len > r->len) {
            fputs(", malformed", r->to);
            return -1;
        }
        if (header == IPPROTO_FRAGMENT) {
            uint16_t bits = net16(load16(r->p + 2));

            fprintf(r->to, " at %u%s", bits & 0xfff8u, (bits & 1) != 0 ? "+" : "");
            if ((bits & 0xfff8) != 0)
                return -1;
        }
        header = r->p[0];
        skip(r, len);
    }
    return header != IPPROTO_NONE ? header : -1;
}

/* Print IPv6 and its extension headers. Returns the protocol that follows, or -1 where none can. */
static int print_ipv6(struct rest *r)
{
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)r->p;

    if (ipv6_check(ip, r->len) == IPV6_BAD_HEADER) {
        fputs(" | ipv6, malformed", r->to);
        return -1;
    }
    fputs(" | ipv6 ", r->to);
    print_address6(r->to, ip->source);
    fputs(" -> ", r->to);
    print_address6(r->to, ip->destination);
    fprintf(r->to, " hop limit %u", ip->hop_limit);
    if (ipv6_dscp(ip) != 0)
        fprintf(r->to, " dscp %u", ipv6_dscp(ip));
    if (ipv6_flow_label(ip) != 0)
        fprintf(r->to, " flow %05" PRIx32, ipv6_flow_label(ip));
    skip(r, IPV6_LEN);
    return print_extensions(r, ip->next_header);
}

static int print_ip(struct rest *r, uint16_t type)
{
    return type == RTE_ETHER_TYPE_IPV6 ? print_ipv6(r) : print_ipv4(r);
}

static const char *icmpv6_name(uint8_t type)
{
    switch (type) {
    case ICMPV6_UNREACHABLE:
        return "destination unreachable";
    case ICMPV6_TOO_BIG:
        return "packet too big";
    case ICMPV6_TIME_EXCEEDED:
        return "time exceeded";
    case ICMPV6_PARAMETER:
        return "parameter problem";
    case ICMPV6_ECHO_REQUEST:
        return "echo request";
    case ICMPV6_ECHO_REPLY:
        return "echo reply";
    case ICMPV6_ROUTER_SOLICIT:
        return "router solicitation";
    case ICMPV6_ROUTER_ADVERT:
        return "router advertisement";
    case ICMPV6_SOLICIT:
        return "neighbour solicitation";
    case ICMPV6_ADVERT:
        return "neighbour advertisement";
    case ICMPV6_REDIRECT:
        return "redirect";
    }
    return NULL;
}

/* Print a message of ICMPv6 of which type and code are there. */
static void print_icmpv6(const struct rest *r)
{
    const char *name = icmpv6_name(r->p[0]);

    if (name == NULL) {
        fprintf(r->to, " | icmpv6 type %u code %u", r->p[0], r->p[1]);
        return;
    }
    fprintf(r->to, " | icmpv6 %s", name);
    if (r->p[0] < ICMPV6_FIRST_INFO)
        fprintf(r->to, " code %u", r->p[1]);
    if (r->p[0] == ICMPV6_TOO_BIG && r->len >= 8)
        fprintf(r->to, " mtu %" PRIu32, net32(load32(r->p + 4)));
    if ((r->p[0] == ICMPV6_SOLICIT || r->p[0] == ICMPV6_ADVERT) && r->len >= 8 + IPV6_ADDR_LEN) {
        fputs(" for ", r->to);
        print_address6(r->to, r->p + 8);
    }
}

/* Print the GRE header. Returns the EtherType of the IP packet that follows, or 0. */
static uint16_t print_gre(struct rest *r)
{
    uint16_t flags = r->len >= GRE_LEN ? gre_flags(r->p) : UINT16_MAX, type;

    if (!gre_flags_ok(flags) || gre_len(flags) > r->len) {
        fputs(" | gre, malformed", r->to);
        return 0;
    }
    fputs(" | gre", r->to);
    if ((flags & GRE_HAS_KEY) != 0)
        fprintf(r->to, " key %" PRIu32, net32(gre_key(r->p, flags)));
    type = net16(gre_protocol(r->p));
    if (type != GRE_PROTO_IPV4 && type != GRE_PROTO_IPV6) {
        fprintf(r->to, " type %04x", type);
        return 0;
    }
    skip(r, gre_len(flags));
    return type;
}

/* Print the header of a PPPoE session frame, and the protocol of PPP where it is none of IP.
 * Returns the EtherType of the IP packet that follows, or 0. */
static uint16_t print_pppoe(struct rest *r)
{
    struct pppoe p;

    if (!pppoe_read(r->p, r->len, &p)) {
        fputs(" | pppoe, malformed", r->to);
        return 0;
    }
    fprintf(r->to, " | pppoe session %u", p.session);
    skip(r, PPPOE_PPP_LEN);
    if (ppp_is_ip(p.protocol))
        return net16(pppoe_type_of(p.protocol));
    fprintf(r->to, " | ppp %04x%s", p.protocol, p.protocol == PPP_LCP ? " (lcp)" : "");
    return 0;
}

static void print_transport(struct rest *r, int protocol)
{
    switch (protocol) {
    case IPPROTO_UDP:
    case IPPROTO_TCP:
        if (r->len < 4)
            break;
        fprintf(r->to, " | %s %u -> %u", protocol == IPPROTO_UDP ? "udp" : "tcp",
                net16(load16(r->p)), net16(load16(r->p + 2)));
        return;
    case IPPROTO_ICMP:
        if (r->len < 2)
            break;
        fprintf(r->to, " | icmp type %u code %u", r->p[0], r->p[1]);
        return;
    case IPPROTO_ICMPV6:
        if (r->len < 2)
            break;
        print_icmpv6(r);
        return;
    }
    if (protocol >= 0)
        fprintf(r->to, " | protocol %d", protocol);
}

static void print_network(struct rest *r, uint16_t type)
{
    int protocol;

    switch (type) {
    case RTE_ETHER_TYPE_ARP:
        print_arp(r);
        return;
    case MPLS_TYPE:
        if (!print_labels(r))
            return;
        type = r->len > 0 && r->p[0] >> 4 == 6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4;
        break;
    case PPPOE_TYPE:
        type = print_pppoe(r);
        if (type == 0)
            return;
        break;
    case RTE_ETHER_TYPE_IPV4:
    case RTE_ETHER_TYPE_IPV6:
        break;
    default:
        fprintf(r->to, " | type %04x", type);
        return;
    }
    protocol = print_ip(r, type);
    if (protocol == IPPROTO_GRE && (type = print_gre(r)) != 0)
        protocol = print_ip(r, type);
    if (protocol != IPPROTO_GRE)
        print_transport(r, protocol);
}

void headers_print(FILE *to, const uint8_t *frame, uint32_t len)
{
    struct rest r = {.to = to, .p = frame, .len = len};
    uint16_t type = print_ethernet(&r);

    if (len < ETH_LEN)
        fputs("too short for Ethernet", to);
    else
        print_network(&r, type);
    fprintf(to, " | %" PRIu32 " B", len + FCS);
}
