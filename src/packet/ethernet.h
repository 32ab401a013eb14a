/* SPDX-License-Identifier: BSD-3-Clause */
/* The Ethernet header of a frame (without FCS), and moving it along the frame. */
#ifndef PACKET_ETHERNET_H
#define PACKET_ETHERNET_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "packet/bytes.h"

#define ETH_LEN     14 /* MAC addresses and EtherType */
#define ETH_MACS    12
#define ETH_MIN_LEN 60 /* shortest frame, without FCS: IEEE 802.3 clause 4A.4.2 */

/** The EtherType of a frame, or the TPID of its tag: the two bytes at 12, in network order. */
static inline rte_be16_t eth_type(const uint8_t *frame)
{
    return load16(frame + ETH_MACS);
}

/**
 * Is a frame addressed to a MAC? A frame that a switch floods or broadcasts must not be routed: RFC
 * 1812 section 5.3.4. At both pointers 8 bytes must be readable; the last two do not count.
 */
static inline bool eth_is_to(const uint8_t *frame, const uint8_t *mac)
{
    return ((load64(frame) ^ load64(mac)) & rte_cpu_to_be_64(UINT64_C(0xffffffffffff0000))) == 0;
}

/** Copy both MAC addresses of a frame to the beginning of a header, which may overlap them. */
static inline void eth_move_macs(uint8_t *to, const uint8_t *from)
{
    uint64_t first = load64(from);
    uint32_t rest = load32(from + 8);

    store64(to, first);
    store32(to + 8, rest);
}

#endif
