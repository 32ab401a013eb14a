/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Double tags: an S-tag (IEEE 802.1ad, TPID 0x88a8; older equipment uses 0x8100) and a C-tag
 * (IEEE 802.1Q, 0x8100) between the MAC addresses and the EtherType.
 *
 *   0 dst | 6 src | 12 TPID | 14 TCI | 16 0x8100 | 18 TCI | 20 EtherType | 22 payload
 *   TCI: PCP 3 bits, DEI 1 bit, VLAN id 12 bits
 */
#ifndef PACKET_QINQ_H
#define PACKET_QINQ_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "packet/bytes.h"
#include "packet/ethernet.h"

#define QINQ_LEN      22 /* Ethernet header with two tags */
#define QINQ_TAGS_LEN 8
#define TPID_S        0x88a8
#define TPID_C        0x8100

/** The eight bytes of both tags in host order: outer TPID and TCI, inner TPID and TCI. The frame
 * has at least 20 bytes. */
static inline uint64_t qinq_tags(const uint8_t *frame)
{
    return rte_be_to_cpu_64(load64(frame + ETH_MACS));
}

/** Are these an S-tag (or a second C-tag) and a C-tag? PCP, DEI and VLAN ids may be anything. */
static inline bool qinq_is_double(uint64_t tags)
{
    const uint64_t tpids = UINT64_C(0xffff0000ffff0000), inner = (uint64_t)TPID_C << 16;

    return (tags & tpids) == ((uint64_t)TPID_S << 48 | inner) ||
           (tags & tpids) == ((uint64_t)TPID_C << 48 | inner);
}

/** The VLAN id of the outer tag. */
static inline uint16_t qinq_svlan(uint64_t tags)
{
    return (uint16_t)(tags >> 32) & 0xfff;
}

/** The VLAN id of the inner tag. */
static inline uint16_t qinq_cvlan(uint64_t tags)
{
    return (uint16_t)tags & 0xfff;
}

/** Priority of the outer tag, 0..7. */
static inline uint8_t qinq_pcp(uint64_t tags)
{
    return (uint8_t)(tags >> 45) & 7;
}

/** The EtherType behind the tags, in network order, of a frame of at least 22 bytes. */
static inline rte_be16_t qinq_type(const uint8_t *frame)
{
    return load16(frame + 20);
}

/** Write a ready-made header of 22 bytes, whose priorities are 0, with a priority in both tags. */
static inline void qinq_write(uint8_t *frame, const uint8_t *header, uint8_t pcp)
{
    const uint64_t in_both = rte_cpu_to_be_64(UINT64_C(0x2000000020000000)); /* 1 in each PCP */
    uint64_t tail = load64(header + 14) | in_both * pcp;

    copy16(frame, header);
    store64(frame + 14, tail);
}

#endif
