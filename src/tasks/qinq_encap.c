/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends a packet to its subscriber: TTL (the gateway is a router in this direction, too), size
 * against the access port's MTU, the subscriber's Ethernet header with both tags, and padding.
 */
#include "engine/task.h"
#include "packet/bytes.h"
#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/qinq.h"
#include "tables/tables.h"

enum { OUT_TO, OUT_PUNT, OUT_FRAGMENT };
enum { ARG_PCP };
enum { PCP_DSCP, PCP_ZERO };

enum {
    DROP_TTL_EXPIRED,
    DROP_TOO_BIG,
    DROP_NO_CPE_MAC,
    DROP_NO_HEADROOM,
    DROP_NO_TAILROOM,
};

#define PAD_STORE 18 /* bytes behind a short packet that padding writes: 60 - 22 - 20 */

struct qinq_encap {
    const struct subscriber *record;
    bool pcp_from_dscp;
    bool cold; /* packets come from a port or another core */
    uint16_t mtu[CFG_MAX_PORTS];
};

static_assert(PAD_STORE == ETH_MIN_LEN - QINQ_LEN - sizeof(struct rte_ipv4_hdr),
              "the shortest packet is a bare header");

static int init(struct task *t, const struct task_env *env)
{
    const struct plan_instance *self = &env->plan->instances[env->instance];
    struct qinq_encap *e = t->state;

    e->record = env->tables->subscribers->record;
    e->pcp_from_dscp = env->cfg->param[ARG_PCP].u == PCP_DSCP;
    e->cold = self->n_rx > 0 || self->in_ring != CFG_NONE;
    for (unsigned i = 0; i < env->plan->cfg->n_ports; i++)
        e->mtu[i] = env->plan->cfg->ports[i].mtu;
    return 0;
}

static inline struct rte_ipv4_hdr *header(const struct rte_mbuf *m)
{
    return (struct rte_ipv4_hdr *)(frame_bytes(m) + ETH_LEN);
}

/* Zeros from the packet's end to the shortest length, and a few bytes more: of what the mbuf held
 * before, nothing leaves. */
static inline void pad(uint8_t *end)
{
    static const uint8_t zeros[16];

    copy16(end, zeros);
    copy16(end + PAD_STORE - 16, zeros);
}

static inline void encap(struct rte_mbuf *m, const struct subscriber *s, bool pcp_from_dscp)
{
    struct rte_ipv4_hdr *ip = header(m);
    uint8_t *f = (uint8_t *)ip - QINQ_LEN;
    uint32_t len = QINQ_LEN + net16(ip->total_length);

    ipv4_ttl_decrement(ip);
    /* the class selector bits become the priority, which has as many: IEEE 802.1Q table I-2 */
    qinq_write(f, s->l2, pcp_from_dscp ? ip->type_of_service >> 5 : 0);
    if (len < ETH_MIN_LEN) {
        pad(f + len);
        len = ETH_MIN_LEN;
    }
    frame_set(m, -QINQ_TAGS_LEN, len);
    meta_set_out_port(m, s->port);
}

/* Is there room for the tags before the packet and the padding behind it? */
static inline bool has_headroom(const struct rte_mbuf *m)
{
    return rte_pktmbuf_headroom(m) >= QINQ_TAGS_LEN;
}

static inline bool has_tailroom(const struct rte_mbuf *m, uint32_t total)
{
    return m->data_off + ETH_LEN + total + PAD_STORE <= m->buf_len || total >= ETH_MIN_LEN;
}

/* An answer to the sender leaves where the packet came in. */
static void punt_back(struct task *t, struct rte_mbuf *m, enum punt_reason why, unsigned reason)
{
    meta_set_out_port(m, (uint8_t)task_in_port(t, m));
    task_punt(t, OUT_PUNT, m, why, reason);
}

/* A packet that cannot simply be sent. */
static void special(struct task *t, struct rte_mbuf *m)
{
    const struct qinq_encap *e = t->state;
    const struct subscriber *s = &e->record[meta_subscriber(m)];
    const struct rte_ipv4_hdr *ip = header(m);
    uint32_t total = net16(ip->total_length);
    bool too_big = total > e->mtu[s->port];

    if (ip->time_to_live <= 1) {
        punt_back(t, m, PUNT_TTL_EXPIRED, DROP_TTL_EXPIRED);
    } else if (too_big && (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_DF_FLAG)) != 0) {
        punt_back(t, m, PUNT_TOO_BIG, DROP_TOO_BIG); /* RFC 1812 section 4.3.3.3, RFC 1191 */
    } else if (too_big && !task_has_output(t, OUT_FRAGMENT)) {
        task_drop(t, m, DROP_TOO_BIG);
    } else if (!s->mac_known) {
        meta_set_out_port(m, s->port); /* where the CPE is asked for */
        task_punt(t, OUT_PUNT, m, PUNT_NO_MAC, DROP_NO_CPE_MAC);
    } else if (!has_headroom(m)) {
        task_drop(t, m, DROP_NO_HEADROOM);
    } else if (!has_tailroom(m, total)) {
        task_drop(t, m, DROP_NO_TAILROOM);
    } else {
        encap(m, s, e->pcp_from_dscp);
        task_emit(t, OUT_FRAGMENT, m);
    }
}

static inline bool is_plain(const struct qinq_encap *e, const struct rte_mbuf *m,
                            const struct subscriber *s)
{
    const struct rte_ipv4_hdr *ip = header(m);
    uint32_t total = net16(ip->total_length);

    return ip->time_to_live > 1 && total <= e->mtu[s->port] && s->mac_known && has_headroom(m) &&
           has_tailroom(m, total);
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct qinq_encap *e = t->state;
    const struct subscriber *record = e->record;
    const bool pcp_from_dscp = e->pcp_from_dscp;
    struct rte_mbuf *good[BURST_MAX];
    uint16_t k = 0;

    if (e->cold) {
        burst_prefetch_frames(m, n);
        for (uint16_t i = 0; i < n; i++)
            rte_prefetch0(&record[meta_subscriber(m[i])]);
    }
    for (uint16_t i = 0; i < n; i++) {
        const struct subscriber *s = &record[meta_subscriber(m[i])];

        if (likely(is_plain(e, m[i], s))) {
            encap(m[i], s, pcp_from_dscp);
            good[k++] = m[i];
        } else {
            special(t, m[i]);
        }
    }
    if (likely(k > 0))
        task_emit_burst(t, OUT_TO, good, k);
}

static const char *const pcps[] = {[PCP_DSCP] = "dscp", [PCP_ZERO] = "zero", NULL};

const struct task_type task_qinq_encap = {
    .schema = {.type = "qinq_encap",
               .help = "writes the subscriber's Ethernet header with both VLAN tags and decrements "
                       "the TTL",
               .kind = TASK_WORKER,
               .params = {[ARG_PCP] = {.name = "pcp",
                                       .type = PARAM_ENUM,
                                       .def = "dscp",
                                       .choices = pcps,
                                       .help = "priority in both tags: the upper bits of the DSCP, "
                                               "or 0"}},
               .outputs = {[OUT_TO] = "to", [OUT_PUNT] = "punt", [OUT_FRAGMENT] = "fragment"},
               .drops = {[DROP_TTL_EXPIRED] = "ttl_expired",
                         [DROP_TOO_BIG] = "too_big",
                         [DROP_NO_CPE_MAC] = "no_cpe_mac",
                         [DROP_NO_HEADROOM] = "no_headroom",
                         [DROP_NO_TAILROOM] = "no_tailroom"},
               .needs = FACT_SUBSCRIBER | FACT_IPV4,
               .gives = FACT_QINQ_IPV4 | FACT_EGRESS,
               .loses = FACT_IPV4,
               .egress = EGRESS_SUBSCRIBERS},
    .state_size = sizeof(struct qinq_encap),
    .init = init,
    .handle = handle,
};
