/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notations of values: what a key takes, its bounds, and how its text becomes a number. The text
 * may come from a file, from a table in CSV or from a request: keys.h.
 */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include "config/model.h"

/** Notation of a value: those of the parameters of tasks, and those of fixed keys only. */
enum key_type {
    KEY_COUNT = PARAM_COUNT,
    KEY_SIZE = PARAM_SIZE,
    KEY_RATE = PARAM_RATE,
    KEY_DURATION = PARAM_DURATION,
    KEY_BOOL = PARAM_BOOL,
    KEY_ENUM = PARAM_ENUM,
    KEY_IPV4 = PARAM_IPV4,
    KEY_STRING = PARAM_STRING,
    KEY_SCHEDULER = PARAM_SCHEDULER,
    KEY_RANGE = PARAM_RANGE,
    KEY_LOAD = PARAM_LOAD,
    KEY_SHARE = PARAM_SHARE,
    KEY_TEMPLATE = PARAM_TEMPLATE,
    KEY_SIZES = PARAM_SIZES,
    KEY_NAME = PARAM_NAME,
    KEY_LIST = PARAM_LIST, /* of anything: the section or the request reads it itself */
    KEY_HOST,              /* the IPv4 address of one host */
    KEY_ADDRESS,           /* the address of one host of either family: u, or of IPv6 s */
    KEY_NEIGHBOUR,         /* the same, or a link-local one of IPv6; s */
    KEY_PREFIX,            /* u address, u2 length */
    KEY_ROUTE,             /* a prefix of IPv4, as KEY_PREFIX; or of IPv6: s, and u2 its length */
    KEY_HOSTS,             /* one host or a prefix of length 24..32 of hosts; as KEY_PREFIX */
    KEY_HOST6,             /* an IPv6 address of a host, or a prefix of length 64; s */
    KEY_PREFIX6,           /* an IPv6 prefix of length 16..127; s */
    KEY_DELEGATED,  /* 1 to CPE_DELEGATED IPv6 prefixes of length 48..64, with blanks between; s */
    KEY_POOLS6,     /* the same of length 16..64; s */
    KEY_MAC,        /* unicast; u */
    KEY_LABEL,      /* a name for people: s */
    KEY_PORT,       /* name of a port: u is its index in ports[] */
    KEY_PROFILE,    /* name of a profile: u is its index in qos.profiles[] */
    KEY_SUBSCRIBER, /* id: u; or circuit "PORT SVLAN.CVLAN": s, with u and u2 the two VLANs */
    KEY_OTHER,      /* of any type: the section or the request reads it itself */
};

/** A key of an object. */
struct key {
    const char *name;
    enum key_type type;
    const char *def;   /* default, in the configuration's notation; NULL: none */
    uint64_t min, max; /* both inside; max 0: none */
    const char *const *choices;
    bool required, power_of_two;
    bool or_null; /* a request may say null: the value is given, and not set */
    bool of_many; /* the key is known only where one group describes many objects */
    /* Notation in a group that describes many objects, where that is another: a range for a number,
     * a prefix for an address. KEY_COUNT, which is 0, stands for the same notation. */
    enum key_type many;
    const char *help; /* what it says, one line for the manual */
    const char *old;  /* its name in an earlier version, or NULL */
};

/** What a key takes, for a message. */
void key_expected(const struct key *k, char *buf, size_t len);

/**
 * Parse a text as the value of a key. Returns 0, -EINVAL (not of the notation) or -ERANGE (out of
 * bounds); v is written only on success. Names of ports and profiles are not looked up.
 */
int key_parse(const struct key *k, const char *text, struct param_value *v);

/** Is this the address of one host: neither 0/8, loopback, multicast nor reserved? */
bool ipv4_is_host(uint32_t addr);

/** May a host have this IPv6 address, and a link this prefix? Not what is reserved, link-local or
 * multicast, RFC 4291 section 2.4. */
bool ipv6_is_host(struct ipv6 addr);

void mac_from_u64(uint64_t v, uint8_t mac[6]);
uint64_t mac_to_u64(const uint8_t mac[6]);

#endif
