/* SPDX-License-Identifier: BSD-3-Clause */
#include "explain/headers.h"

#include <inttypes.h>
#include <netinet/in.h>

#include <rte_ip.h>

#include "base/units.h"
#include "packet/arp.h"
#include "packet/ethernet.h"
#include "packet/gre.h"
#include "packet/mpls.h"
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

/* Print the GRE header. Returns whether IPv4 follows. */
static bool print_gre(struct rest *r)
{
    uint16_t flags = r->len >= GRE_LEN ? gre_flags(r->p) : UINT16_MAX;

    if (!gre_flags_ok(flags) || gre_len(flags) > r->len) {
        fputs(" | gre, malformed", r->to);
        return false;
    }
    fputs(" | gre", r->to);
    if ((flags & GRE_HAS_KEY) != 0)
        fprintf(r->to, " key %" PRIu32, net32(gre_key(r->p, flags)));
    if (gre_protocol(r->p) != RTE_BE16(GRE_PROTO_IPV4)) {
        fprintf(r->to, " type %04x", net16(gre_protocol(r->p)));
        return false;
    }
    skip(r, gre_len(flags));
    return true;
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
        break;
    case RTE_ETHER_TYPE_IPV4:
        break;
    default:
        fprintf(r->to, " | type %04x", type);
        return;
    }
    protocol = print_ipv4(r);
    if (protocol == IPPROTO_GRE && print_gre(r))
        protocol = print_ipv4(r);
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
