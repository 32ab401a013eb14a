/* SPDX-License-Identifier: BSD-3-Clause */
/* The section "radius" of a configuration. */
#ifndef CP_RADIUS_CONFIG_H
#define CP_RADIUS_CONFIG_H

#include <libconfig.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct loader;

#define RADIUS_SERVERS_MAX 8
#define RADIUS_CLIENTS_MAX 16
#define RADIUS_SECRET_MAX  128 /* octets */
#define RADIUS_RETRIES_MAX 7
#define RADIUS_SOCKETS_MAX 64 /* of a server in a role */

union radius_address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
};

struct radius_server {
    const char *name;                                /* its address as it was written */
    union radius_address authentication, accounting; /* with their ports */
    char secret[RADIUS_SECRET_MAX + 1];
};

/** From whom changes are taken. */
struct radius_coa_client {
    union radius_address address; /* any port */
    char secret[RADIUS_SECRET_MAX + 1];
};

struct radius_config {
    struct radius_server servers[RADIUS_SERVERS_MAX]; /* the first that lives is asked */
    unsigned n_servers;
    char nas_identifier[254];
    uint32_t nas_ipv4;           /* NAS-IP-Address; 0: none */
    union radius_address source; /* of requests; family 0: the kernel chooses */
    uint64_t timeout_ns;         /* to the first retransmission; each next takes twice as long */
    unsigned retries;            /* retransmissions to a server */
    uint64_t dead_ns;            /* for how long a dead server is left alone */
    unsigned sockets;            /* of a server in a role: 256 requests are under way on each */
    union radius_address coa;    /* where changes are taken; family 0: nowhere */
    struct radius_coa_client clients[RADIUS_CLIENTS_MAX];
    unsigned n_clients;
    bool accounting;     /* records are sent */
    uint64_t interim_ns; /* between records of a session, where no answer says it; 0: none */
    uint64_t count_ns;   /* how often the user plane's counters are read */
    uint64_t window_s;   /* how old or new a change's Event-Timestamp may be */
    bool names_lines;    /* a subscriber of IPoE is called by his line, not by his MAC */
    char password[129];  /* which he has; empty: his name */
};

/** Read a group "radius". Errors are added to l->d, and *config is not to be used then. The
 * servers' names are strings of the model. */
void radius_config_read(struct loader *l, const config_setting_t *group,
                        struct radius_config *config);

#endif
