/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network's end of a PPP link (RFC 1661): LCP, the peer's authentication by PAP or CHAP, IPCP
 * and IPV6CP. It knows neither frames nor subscribers: packets go in and out, times are given to
 * it, so that a test may have its own.
 */
#ifndef CP_PPP_PPP_H
#define CP_PPP_PPP_H

#include "cp/ppp/protocol.h"

#define PPP_MAX_DNS     2
#define PPP_CHALLENGE   16 /* bytes */
#define PPP_LEAST_MRU   576
#define PPP_DEFAULT_MRU 1500 /* RFC 1661 section 6.1 */

enum ppp_phase {
    PPP_ESTABLISH,    /* LCP is not open */
    PPP_AUTHENTICATE, /* it is; the peer is to say who he is */
    PPP_JUDGE,        /* he has; somebody finds out whether that is true */
    PPP_NETWORK,      /* it is */
    PPP_OVER,         /* nothing is sent any more */
};

/** What all links have in common. */
struct ppp_settings {
    const char *name;           /* of this side, in CHAP's challenges */
    enum ppp_number methods[2]; /* PPP_CHAP, PPP_PAP in the order of preference */
    unsigned n_methods;         /* 1 or 2 */
    uint64_t restart_ns;        /* restart timer: RFC 1661 section 4.6 */
    uint8_t max_configure, max_terminate, max_failure;
};

/** By what the peer proves who he is. The bytes live as long as the call. */
struct ppp_proof {
    enum ppp_number method;          /* PPP_PAP or PPP_CHAP */
    struct ppp_bytes name, password; /* password: of PAP */
    uint8_t id;                      /* CHAP, and so what follows */
    struct ppp_bytes challenge;
    const uint8_t *response; /* PPP_CHAP_DIGEST bytes */
};

/** What the peer gets. */
struct ppp_grant {
    uint32_t address, own;     /* IPv4, his and this side's; 0: IPCP is refused */
    uint32_t dns[PPP_MAX_DNS]; /* 0: none */
    bool ipv6;                 /* false: IPV6CP is refused */
    uint64_t peer_iid, iid;    /* his interface identifier, 0: which he likes; and this side's */
};

struct ppp_calls {
    /** Send n bytes of a protocol. */
    void (*send)(void *ctx, uint16_t protocol, const uint8_t *packet, size_t n);

    /** Find out whether the peer is who he says; ppp_judged() follows, at once or later. */
    void (*judge)(void *ctx, const struct ppp_proof *proof);

    /** The peer is ready for IPv4 or IPv6; ppp_forwards() follows when his packets are forwarded.
     */
    void (*ready)(void *ctx);

    /** Keep in mind what happened. */
    void (*note)(void *ctx, const char *text);
};

struct ppp {
    const struct ppp_settings *settings;
    const struct ppp_calls *calls;
    void *ctx;
    uint64_t now;     /* of the call that is under way */
    const char *over; /* why the link has ended; NULL: it has not */
    struct ppp_protocol lcp, ipcp, ipv6cp;
    uint8_t phase;                                                 /* enum ppp_phase */
    uint8_t method;                                                /* index of settings->methods */
    bool without_mru, without_magic, without_address, without_iid; /* the peer rejects it */
    bool heard;        /* a packet of the peer has come */
    bool forwards;     /* his packets have been forwarded */
    uint16_t mru;      /* of this side: what the peer may send */
    uint16_t most;     /* neither side's MRU is to be more */
    uint16_t peer_mru; /* what he takes */
    uint32_t magic, peer_magic;
    struct ppp_grant grant;
    uint64_t peer_iid; /* that he has */
    /* authentication */
    uint64_t deadline; /* when the challenge is sent again; UINT64_MAX: not */
    uint8_t id;        /* of the challenge, or of the request that was judged */
    uint8_t count;     /* challenges that may still be sent */
    uint8_t challenge[PPP_CHALLENGE];
};

/** A link on which nothing has been said. most: bytes of a packet that the frames carry, 1492 at
 * least; magic: a number that is not 0. */
void ppp_init(struct ppp *p, const struct ppp_settings *settings, const struct ppp_calls *calls,
              void *ctx, uint16_t most, uint32_t magic);
void ppp_free(struct ppp *p);

/** Begin with LCP. */
void ppp_start(struct ppp *p, uint64_t now);

/** Take bytes of a protocol. After this and the following calls p->over may be set. */
void ppp_take(struct ppp *p, uint16_t protocol, struct ppp_bytes bytes, uint64_t now);

/** When ppp_run() is to be called; UINT64_MAX: never. */
uint64_t ppp_next(const struct ppp *p);
void ppp_run(struct ppp *p, uint64_t now);

/** The peer is who he says, and gets this; NULL: he is not. message: what he is told, at most 200
 * bytes. */
void ppp_judged(struct ppp *p, const struct ppp_grant *grant, const char *message, uint64_t now);

/** His packets of these families are forwarded: he is told that their protocols are open. */
void ppp_forwards(struct ppp *p, bool ipv4, bool ipv6, uint64_t now);

/** End the link: the peer is told once by a Terminate-Request. */
void ppp_end(struct ppp *p, const char *why, uint64_t now);

/** A link that was open before this program was started, with magic numbers, MRUs and grant as they
 * were: all protocols are that have something granted. */
void ppp_resume(struct ppp *p, const struct ppp_grant *grant, uint64_t now);

/** What a peer takes who says nothing of it: the default, as far as frames carry it. */
static inline uint16_t ppp_default_mru(const struct ppp *p)
{
    return p->most < PPP_DEFAULT_MRU ? p->most : PPP_DEFAULT_MRU;
}

/** Bytes of a packet that may be sent to the peer. */
static inline uint16_t ppp_mtu(const struct ppp *p)
{
    return p->peer_mru < p->most ? p->peer_mru : p->most;
}

/** Is the peer ready for IPv4, or IPv6: may his packets be forwarded? */
bool ppp_ready4(const struct ppp *p);
bool ppp_ready6(const struct ppp *p);

/** The link is over, for a reason; the peer is not told. */
void ppp_over(struct ppp *p, const char *why);

/* --- between the files of this folder --- */

extern const struct ppp_meaning ppp_lcp, ppp_ipcp, ppp_ipv6cp;

/** LCP is open: the peer's authentication begins. */
void ppp_authenticate(struct ppp *p);

/** A packet of PAP or CHAP. */
void ppp_take_proof(struct ppp *p, enum ppp_number method, const struct ppp_packet *packet);

/** The timer of the challenge. */
void ppp_run_proof(struct ppp *p);

#endif
