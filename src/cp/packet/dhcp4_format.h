/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the fields of a message of DHCPv4 are (RFC 2131 section 2), and the codes of its options
 * (RFC 2132, 3046). */
#ifndef CP_PACKET_DHCP4_FORMAT_H
#define CP_PACKET_DHCP4_FORMAT_H

#define DHCP4_COOKIE   0x63825363u
#define DHCP4_ETHERNET 1

/* Offsets of the fields, and their lengths. */
enum {
    AT_OP = 0,
    AT_HTYPE = 1,
    AT_HLEN = 2,
    AT_HOPS = 3,
    AT_XID = 4,
    AT_SECS = 8,
    AT_FLAGS = 10,
    AT_CIADDR = 12,
    AT_YIADDR = 16,
    AT_SIADDR = 20,
    AT_GIADDR = 24,
    AT_CHADDR = 28,
    AT_SNAME = 44,
    AT_FILE = 108,
    AT_COOKIE = 236,
    AT_OPTIONS = 240,
    SNAME_LEN = AT_FILE - AT_SNAME,
    FILE_LEN = AT_COOKIE - AT_FILE,
    MAC_LEN = 6,
};

enum {
    OPT_PAD = 0,
    OPT_MASK = 1,
    OPT_ROUTER = 3,
    OPT_DNS = 6,
    OPT_DOMAIN = 15,
    OPT_BROADCAST = 28,
    OPT_REQUESTED = 50,
    OPT_LEASE = 51,
    OPT_OVERLOAD = 52,
    OPT_TYPE = 53,
    OPT_SERVER = 54,
    OPT_PARAMS = 55,
    OPT_MESSAGE = 56,
    OPT_MAX_SIZE = 57,
    OPT_T1 = 58,
    OPT_T2 = 59,
    OPT_CLIENT = 61,
    OPT_RELAY = 82,
    OPT_END = 255,
};

enum { OVERLOAD_FILE = 1, OVERLOAD_SNAME = 2 };

#endif
