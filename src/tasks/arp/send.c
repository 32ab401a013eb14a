/* SPDX-License-Identifier: BSD-3-Clause */
/* The last step of all frames that the slow path sends to ports: what is IP goes in the PPPoE
 * session of its line, as whoever makes a frame for a subscriber need not know. */
#include "packet/frame.h"
#include "packet/pppoe.h"
#include "tasks/arp/instance.h"

/* Pad a frame with zeros to the shortest one of Ethernet, so that nothing leaves of what the mbuf
 * held before. */
static void pad(struct rte_mbuf *m)
{
    uint16_t missing = (uint16_t)(ETH_MIN_LEN - RTE_MIN(m->data_len, ETH_MIN_LEN));
    char *end = rte_pktmbuf_append(m, missing);

    if (end != NULL)
        memset(end, 0, missing);
}

/* The subscriber in whose session a frame has to go, or NULL. */
static const struct subscriber *in_session(const struct arp *a, const struct rte_mbuf *m)
{
    const struct subscriber_table *t = a->tables->subscribers;
    const uint8_t *f = frame_bytes(m);
    const struct subscriber *s;
    uint64_t tags;

    if (m->data_len < QINQ_LEN || !qinq_is_double(tags = qinq_tags(f)) ||
        (qinq_type(f) != RTE_BE16(RTE_ETHER_TYPE_IPV4) &&
         qinq_type(f) != RTE_BE16(RTE_ETHER_TYPE_IPV6)))
        return NULL;
    s = &t->record[idmap_get(
        t->by_vlan, subscriber_vlan_key(meta_out_port(m), qinq_svlan(tags), qinq_cvlan(tags)))];
    return s->session != 0 ? s : NULL;
}

/* Put a frame with two tags into its subscriber's session. Returns false without headroom. A
 * session has one station at its other end, which what is for all goes to as well. */
static bool enter_session(struct rte_mbuf *m, const struct subscriber *s)
{
    uint8_t *f = frame_bytes(m);
    uint16_t protocol = pppoe_protocol_of(qinq_type(f));
    uint32_t len = m->data_len - QINQ_LEN;

    if (rte_pktmbuf_headroom(m) < PPPOE_PPP_LEN)
        return false;
    memmove(f - PPPOE_PPP_LEN, f, QINQ_LEN - 2);
    frame_set(m, -PPPOE_PPP_LEN, PPPOE_QINQ_LEN + len);
    f -= PPPOE_PPP_LEN;
    memcpy(f, s->l2, 6);
    store16(f + QINQ_LEN - 2, RTE_BE16(PPPOE_TYPE));
    pppoe_write(f + QINQ_LEN, s->session, protocol, len);
    return true;
}

void arp_send(struct task *t, struct rte_mbuf *m)
{
    const struct subscriber *s = in_session(t->state, m);

    if (s != NULL && !enter_session(m, s)) {
        task_drop(t, m, DROP_NO_ROOM);
        return;
    }
    pad(m);
    task_emit(t, ARP_OUT_TO, m);
}
