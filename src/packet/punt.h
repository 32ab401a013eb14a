/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of the punt socket, between the gateway and its control plane (BBF TR-459): one
 * frame of a subscriber's line each, behind a header that says which line. Both ends are on one
 * machine, so that numbers are in its byte order. Without DPDK, for both programs include this.
 */
#ifndef PACKET_PUNT_H
#define PACKET_PUNT_H

#include <assert.h>
#include <stdint.h>

#define PUNT_MAGIC        0x31504256u /* "VBP1" */
#define PUNT_PORT_ROOM    32          /* bytes of a port's name in a header, with its end */
#define PUNT_MESSAGE_MOST 2048        /* bytes of a message, header and frame */
#define PUNT_HELLO_LEN    8           /* frame of PUNT_HELLO: MAC, and mtu in network order */

/** What a frame is. */
enum punt_kind {
    PUNT_HELLO,           /* no frame, but a port of the gateway: the first messages of all */
    PUNT_DHCP4,           /* UDP to port 67 from 68: RFC 2131 */
    PUNT_DHCP6,           /* UDP to port 547: RFC 8415 */
    PUNT_PPPOE_DISCOVERY, /* EtherType 0x8863: RFC 2516 */
    PUNT_PPP,             /* a control protocol of PPP: RFC 1661 */
    N_PUNT_KINDS
};

/** The header of a message. */
struct punt_header {
    uint32_t magic;        /* PUNT_MAGIC */
    uint16_t header_bytes; /* the frame begins here: this header's size, or more in later versions
                            */
    uint16_t frame_bytes; /* of the frame, from its Ethernet header on, without VLAN tags and FCS */
    uint32_t subscriber;  /* id of the control socket; 0: the line has none */
    uint32_t session;     /* PPPoE session id (RFC 2516 section 4); 0: none */
    uint16_t svlan, cvlan;     /* of the line */
    uint8_t kind;              /* enum punt_kind */
    uint8_t reserved[3];       /* 0 */
    uint64_t time_ns;          /* CLOCK_REALTIME when the gateway had the frame; 0 from the control
                                  plane */
    char port[PUNT_PORT_ROOM]; /* name of the access port, NUL-padded */
};

static_assert(sizeof(struct punt_header) == 64, "both programs mean the same bytes");

#define PUNT_FRAME_MOST (PUNT_MESSAGE_MOST - (unsigned)sizeof(struct punt_header)) /* bytes */

#endif
