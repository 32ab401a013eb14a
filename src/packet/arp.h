/* SPDX-License-Identifier: BSD-3-Clause */
/* ARP for IPv4 over Ethernet: RFC 826. */
#ifndef PACKET_ARP_H
#define PACKET_ARP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_arp.h>
#include <rte_byteorder.h>
#include <rte_ether.h>

#define ARP_LEN 28

static_assert(sizeof(struct rte_arp_hdr) == ARP_LEN, "an ARP packet for IPv4 over Ethernet");

/** Are avail bytes a complete ARP request or reply for IPv4 over Ethernet? */
static inline bool arp_is_valid(const struct rte_arp_hdr *arp, uint32_t avail)
{
    return avail >= ARP_LEN && arp->arp_hardware == RTE_BE16(RTE_ARP_HRD_ETHER) &&
           arp->arp_protocol == RTE_BE16(RTE_ETHER_TYPE_IPV4) && arp->arp_hlen == 6 &&
           arp->arp_plen == 4 &&
           (arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REQUEST) ||
            arp->arp_opcode == RTE_BE16(RTE_ARP_OP_REPLY));
}

/** Write an ARP packet. IPv4 addresses are in network order; target_mac NULL: zeros, as in a
 * request. */
static inline void arp_write(struct rte_arp_hdr *arp, uint16_t opcode, const uint8_t *sender_mac,
                             rte_be32_t sender, const uint8_t *target_mac, rte_be32_t target)
{
    static const uint8_t unknown[6];

    arp->arp_hardware = RTE_BE16(RTE_ARP_HRD_ETHER);
    arp->arp_protocol = RTE_BE16(RTE_ETHER_TYPE_IPV4);
    arp->arp_hlen = 6;
    arp->arp_plen = 4;
    arp->arp_opcode = rte_cpu_to_be_16(opcode);
    memcpy(&arp->arp_data.arp_sha, sender_mac, 6);
    arp->arp_data.arp_sip = sender;
    memcpy(&arp->arp_data.arp_tha, target_mac != NULL ? target_mac : unknown, 6);
    arp->arp_data.arp_tip = target;
}

#endif
