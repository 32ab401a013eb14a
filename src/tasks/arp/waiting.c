/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours that have been asked for their MAC: the packets that are kept until the answer comes
 * (RFC 1122 section 2.3.2.2), and the next question where it does not. A known neighbour of the
 * core whose address somebody else claims is asked, too: by unicast first, so that one who is there
 * keeps his place, and only then in public.
 */
#include "base/units.h"
#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/qinq.h"
#include "tasks/arp/discovery.h"

#define QUESTIONS 3 /* before packets are given up; before a known MAC is doubted in public */

static struct arp_wait *wait_of(struct arp *a, const struct arp_entry *e)
{
    return e->wait != 0 ? &a->wait[e->wait - 1] : NULL;
}

/* Begin to wait for a neighbour, who may be waited for already. Some places are the core's, without
 * whom nobody gets on. Returns NULL where no place is free. */
static struct arp_wait *wait_for(struct arp *a, struct arp_entry *e, enum arp_side side)
{
    unsigned places = side == SIDE_CORE ? ARP_WAITS : ARP_WAITS - ARP_WAITS / 4;

    if (e->wait != 0)
        return &a->wait[e->wait - 1];
    for (unsigned i = 0; i < places; i++) {
        if (a->wait[i].is_used)
            continue;
        a->wait[i] = (struct arp_wait){.is_used = true,
                                       .side = side,
                                       .questions = QUESTIONS - 1,
                                       .next = a->tick + ARP_ASK_GAP};
        a->n_waits++;
        e->wait = (uint8_t)(i + 1);
        return &a->wait[i];
    }
    return NULL;
}

static struct arp_wait *wait_for_neighbour(struct arp *a, struct neighbour *nb)
{
    struct arp_wait *w = wait_for(a, &nb->entry, SIDE_CORE);

    if (w != NULL) {
        w->addr6 = nb->via;
        w->port = nb->port;
    }
    return w;
}

/* The entry of the neighbour who is waited for, or NULL where there is no such next hop any more.
 */
static struct arp_entry *entry_of(const struct arp *a, const struct arp_wait *w)
{
    struct neighbour *nb;

    if (w->side == SIDE_SUBSCRIBERS)
        return arp_subscriber_entry(a, w->who, w->addr);
    nb = arp_find_neighbour(a, w->port, w->addr6);
    return nb != NULL ? &nb->entry : NULL;
}

static void end_wait(struct arp *a, struct arp_wait *w)
{
    struct arp_entry *e = entry_of(a, w);

    if (e != NULL)
        e->wait = 0;
    w->is_used = false;
    a->n_waits--;
}

/* Keep a packet: the latest ones, where there are too many. */
static void keep(struct task *t, struct arp_wait *w, struct rte_mbuf *m)
{
    struct arp *a = t->state;

    if (w->n == a->keep) {
        task_drop(t, w->m[0], DROP_UNRESOLVED);
        memmove(&w->m[0], &w->m[1], (w->n - 1u) * sizeof(w->m[0]));
        w->n--;
        a->kept--;
    }
    w->m[w->n++] = m;
    a->kept++;
}

/* Keep a packet, or drop it where nothing is kept. */
static void keep_or_drop(struct task *t, struct arp_wait *w, struct rte_mbuf *m)
{
    const struct arp *a = t->state;

    if (w != NULL && a->keep > 0 && !t->stopping)
        keep(t, w, m);
    else
        task_drop(t, m, DROP_UNRESOLVED);
}

/* Ask for a subscriber's MAC (addr: an address of his, host order), and keep a packet until the
 * answer comes. */
static void wait_subscriber(struct task *t, struct rte_mbuf *m, uint32_t id, uint32_t addr)
{
    struct arp *a = t->state;
    struct arp_wait *w = NULL;
    struct arp_entry *e;

    arp_ask_subscriber(t, id, addr);
    e = arp_subscriber_entry(a, id, addr);
    if (a->notes == NULL && a->keep > 0 && e != NULL &&
        (e->wait != 0 || arp_may_wait_for_host(a, id)))
        w = wait_for(a, e, SIDE_SUBSCRIBERS);
    if (w != NULL) {
        w->who = id;
        w->addr = addr;
    }
    keep_or_drop(t, w, m);
}

/* The same for an address of IPv6: a subscriber has one MAC for all of them. */
static void wait_subscriber6(struct task *t, struct rte_mbuf *m, uint32_t id, struct ipv6 addr)
{
    struct arp *a = t->state;
    struct arp_wait *w = NULL;

    arp_ask_subscriber6(t, id, addr);
    if (a->notes == NULL && a->keep > 0 && a->tables->subscribers->record[id].hosts == NULL)
        w = wait_for(a, &a->subscriber[id], SIDE_SUBSCRIBERS);
    if (w != NULL) {
        w->who = id;
        w->addr6 = addr;
    }
    keep_or_drop(t, w, m);
}

/* The same for a next hop, where a task routes what is kept again. */
static void wait_nexthop(struct task *t, struct rte_mbuf *m, uint32_t id)
{
    struct arp *a = t->state;
    struct arp_wait *w = NULL;

    arp_ask_nexthop(t, id);
    if (a->notes == NULL && a->keep > 0 && a->neighbour_of[id] != UINT32_MAX &&
        task_has_output(t, ARP_OUT_ROUTE)) {
        w = wait_for_neighbour(a, &a->neighbour[a->neighbour_of[id]]);
    }
    keep_or_drop(t, w, m);
}

void arp_doubt(struct task *t, struct neighbour *nb)
{
    struct arp *a = t->state;
    const struct nexthop *nh = &a->tables->routes->nexthop[nb->first];

    if (!nh->mac_known) {
        arp_ask_nexthop(t, nb->first);
        return;
    }
    if (a->notes == NULL && arp_may_ask(a, &nb->entry) && arp_request_neighbour(t, nb, ASK_FOR_OLD))
        wait_for_neighbour(a, nb);
}

/* The same of a packet of IPv6. */
static bool send_down6(struct task *t, struct rte_mbuf *m, uint32_t id)
{
    const struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    struct ipv6_hdr *ip = (struct ipv6_hdr *)(frame_bytes(m) + ETH_LEN);
    uint32_t total = ipv6_len(ip);
    uint8_t *f = (uint8_t *)ip - QINQ_LEN;

    if (!s->mac_known || ip->hop_limit <= 1 || total > s->mtu ||
        rte_pktmbuf_headroom(m) < QINQ_TAGS_LEN)
        return false;
    ip->hop_limit--;
    qinq_write(f, s->l2, a->pcp_from_dscp ? ipv6_traffic_class(ip) >> 5 : 0);
    store16(f + QINQ_LEN - 2, RTE_BE16(RTE_ETHER_TYPE_IPV6));
    frame_set(m, -QINQ_TAGS_LEN, QINQ_LEN + total);
    meta_set_out_port(m, s->port);
    arp_send(t, m);
    return true;
}

/* Send a packet to a subscriber as qinq_encap would. Returns false where it cannot, or the MAC is
 * not known. */
static bool send_down(struct task *t, struct rte_mbuf *m, uint32_t id)
{
    const struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame_bytes(m) + ETH_LEN);
    uint32_t total = rte_be_to_cpu_16(ip->total_length);
    uint8_t mac[6];

    if (eth_is_ipv6(frame_bytes(m)))
        return send_down6(t, m, id);
    if (!subscriber_find_mac(s, ip->dst_addr, mac) || ip->time_to_live <= 1 || total > s->mtu ||
        rte_pktmbuf_headroom(m) < QINQ_TAGS_LEN)
        return false;
    ipv4_ttl_decrement(ip);
    qinq_write((uint8_t *)ip - QINQ_LEN, s->l2, a->pcp_from_dscp ? ip->type_of_service >> 5 : 0);
    frame_set(m, -QINQ_TAGS_LEN, QINQ_LEN + total);
    memcpy(frame_bytes(m), mac, sizeof(mac));
    meta_set_out_port(m, s->port);
    arp_send(t, m);
    return true;
}

/* Handle a packet to a subscriber: the MAC may have become known meanwhile. */
static void resolve_down(struct task *t, struct rte_mbuf *m, uint32_t id, rte_be32_t dst)
{
    const struct arp *a = t->state;
    uint8_t mac[6];

    if (!subscriber_find_mac(&a->tables->subscribers->record[id], dst, mac))
        wait_subscriber(t, m, id, rte_be_to_cpu_32(dst));
    else if (!send_down(t, m, id))
        task_drop(t, m, DROP_UNRESOLVED);
}

/* Handle a packet of a subscriber to a next hop: what is known of both goes with it to the task
 * that routes it again. */
static void resolve_up(struct task *t, struct rte_mbuf *m, uint32_t id)
{
    const struct arp *a = t->state;

    if (!a->tables->routes->nexthop[id].mac_known)
        wait_nexthop(t, m, id);
    else if (task_has_output(t, ARP_OUT_ROUTE))
        task_emit(t, ARP_OUT_ROUTE, m);
    else
        task_drop(t, m, DROP_UNRESOLVED);
}

/* Handle a packet of IPv6 for a MAC that was not known: to the subscriber, or of his to the next
 * hop. Returns false where it is neither. */
static bool resolve6(struct task *t, struct rte_mbuf *m, const struct arp_frame *f, uint32_t sub,
                     uint32_t nh)
{
    const struct arp *a = t->state;
    const struct subscriber_table *s = a->tables->subscribers;
    const struct ipv6_hdr *ip = (const struct ipv6_hdr *)(f->bytes + f->l2_len);
    const struct subscriber6 *s6;
    struct ipv6 to;

    if (sub == 0 || !s->record[sub].has_ipv6 || f->type != RTE_ETHER_TYPE_IPV6 ||
        f->l2_len != ETH_LEN || ipv6_check(ip, f->avail) != IPV6_OK)
        return false;
    s6 = &s->v6->record[sub];
    to = ipv6_of(ip->destination);
    if (s->record[sub].port == meta_out_port(m) && ipv6_is_forwarded(to.upper) &&
        subscriber6_owns(s6, to)) {
        if (!s->record[sub].mac_known)
            wait_subscriber6(t, m, sub, to);
        else if (!send_down(t, m, sub)) /* the MAC has become known meanwhile */
            task_drop(t, m, DROP_UNRESOLVED);
        return true;
    }
    if (nh == 0 || !subscriber6_owns(s6, ipv6_of(ip->source)))
        return false;
    resolve_up(t, m, nh);
    return true;
}

/* The graph need not have put a writer of the mbuf's facts before, so they must agree with the
 * addresses; of a packet of which they do not, the MAC is asked for, and no more. */
void arp_resolve(struct task *t, struct rte_mbuf *m, const struct arp_frame *f)
{
    const struct arp *a = t->state;
    const struct subscriber_table *s = a->tables->subscribers;
    const struct route_table *r = a->tables->routes;
    const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(f->bytes + f->l2_len);
    uint32_t sub = meta_subscriber(m), nh = meta_nexthop(m);
    uint8_t port = meta_out_port(m);
    bool whole = f->type == RTE_ETHER_TYPE_IPV4 && f->l2_len == ETH_LEN &&
                 ipv4_check(ip, f->avail) == IPV4_OK;
    bool to_sub, to_nh;

    if (sub < 1 || sub > s->n)
        sub = 0;
    to_sub = sub != 0 && s->record[sub].port == port;
    to_nh = nh >= 1 && nh <= r->n_nexthops && r->nexthop[nh].port == port;
    if (whole && to_sub && subscriber_has_ipv4(&s->record[sub], ip->dst_addr)) {
        resolve_down(t, m, sub, ip->dst_addr);
        return;
    }
    if (whole && to_nh && sub != 0 && subscriber_has_ipv4(&s->record[sub], ip->src_addr)) {
        resolve_up(t, m, nh);
        return;
    }
    if (resolve6(t, m, f, sub, to_nh ? nh : 0))
        return;
    if (to_sub)
        arp_ask_subscriber(t, sub, 0);
    if (to_nh)
        arp_ask_nexthop(t, nh);
    task_drop(t, m, DROP_UNRESOLVED);
}

/* Send a packet that has waited. What is routed again is looked up again, so that a next hop that
 * has changed meanwhile does no harm. */
static void send_kept(struct task *t, const struct arp_wait *w, struct rte_mbuf *m)
{
    if (w->side == SIDE_CORE)
        task_emit(t, ARP_OUT_ROUTE, m);
    else if (!send_down(t, m, w->who))
        task_drop(t, m, DROP_UNRESOLVED);
}

void arp_answered(struct task *t, const struct arp_entry *e)
{
    struct arp *a = t->state;
    struct arp_wait *w = wait_of(a, e);

    if (w == NULL || a->notes != NULL)
        return;
    for (unsigned i = 0; i < w->n; i++)
        send_kept(t, w, w->m[i]);
    a->kept -= w->n;
    end_wait(a, w);
}

/* Drop the packets of a neighbour. More of them than a burst has may end in one round. */
static void drop_kept(struct task *t, struct arp_wait *w)
{
    struct arp *a = t->state;

    for (unsigned i = 0; i < w->n; i++)
        task_drop_now(t, w->m[i], DROP_NO_ANSWER);
    a->kept -= w->n;
    end_wait(a, w);
}

void arp_abandon(struct task *t, const struct arp_entry *e)
{
    struct arp *a = t->state;

    if (e->wait != 0)
        drop_kept(t, wait_of(a, e));
}

/* Give the packets of a neighbour up who has not answered, and tell their senders (RFC 1812 section
 * 4.3.3.1). */
static void give_up(struct task *t, struct arp_wait *w)
{
    struct arp *a = t->state;

    for (unsigned i = 0; i < w->n; i++)
        if (!arp_host_unreachable(t, w->m[i]))
            task_drop_now(t, w->m[i], DROP_NO_ANSWER);
    a->kept -= w->n;
    end_wait(a, w);
    task_flush(t); /* with those of others they may be more than a burst has */
}

/* Ask once more. A neighbour who did not answer questions to his own MAC is asked in public, once.
 */
static void ask_again(struct task *t, struct arp_wait *w)
{
    struct arp *a = t->state;
    struct neighbour *nb;

    w->next = a->tick + ARP_ASK_GAP;
    if (w->side == SIDE_SUBSCRIBERS) {
        if (w->addr6.upper != 0)
            arp_ask_subscriber6(t, w->who, w->addr6);
        else
            arp_ask_subscriber(t, w->who, w->addr);
        return;
    }
    nb = arp_find_neighbour(a, w->port, w->addr6);
    if (nb != NULL)
        arp_request_neighbour(t, nb,
                              !nb->entry.in_public && w->questions > 0 ? ASK_FOR_OLD : ASK_FOR_NEW);
}

/* Is there somebody to ask, who has a question left? A known MAC has one more: the public one. */
static bool goes_on(const struct arp *a, const struct arp_wait *w)
{
    const struct arp_entry *e = entry_of(a, w);

    return e != NULL && (w->questions > 0 || (w->side == SIDE_CORE && !e->in_public));
}

/* Has control given the MAC meanwhile? */
static bool is_known(const struct arp *a, const struct arp_wait *w)
{
    const struct neighbour *nb;
    uint8_t mac[6];

    if (w->side == SIDE_SUBSCRIBERS)
        return subscriber_find_mac(&a->tables->subscribers->record[w->who],
                                   rte_cpu_to_be_32(w->addr), mac);
    nb = arp_find_neighbour(a, w->port, w->addr6);
    return nb != NULL && a->tables->routes->nexthop[nb->first].mac_known;
}

uint16_t arp_wait_on(struct task *t)
{
    struct arp *a = t->state;
    uint16_t moved = 0;

    if (a->n_waits == 0)
        return 0;
    for (unsigned i = 0; i < ARP_WAITS; i++) {
        struct arp_wait *w = &a->wait[i];

        if (!w->is_used || (!t->stopping && (int32_t)(a->tick - w->next) < 0))
            continue;
        moved++;
        if (t->stopping) {
            drop_kept(t, w);
        } else if (!goes_on(a, w)) {
            give_up(t, w);
        } else if (w->n > 0 && is_known(a, w)) {
            arp_answered(t, entry_of(a, w));
            task_flush(t); /* together they may be more than a burst has */
        } else {
            ask_again(t, w);
            w->questions -= w->questions > 0;
        }
    }
    return moved;
}

void arp_forget_waiting(struct task *t, uint32_t id)
{
    struct arp *a = t->state;

    for (unsigned i = 0; i < ARP_WAITS && a->n_waits > 0; i++) {
        struct arp_wait *w = &a->wait[i];
        unsigned n = 0;

        if (!w->is_used)
            continue;
        for (unsigned k = 0; k < w->n; k++) {
            if (meta_subscriber(w->m[k]) == id)
                task_drop_now(t, w->m[k], DROP_NO_ANSWER);
            else
                w->m[n++] = w->m[k];
        }
        a->kept -= w->n - n;
        w->n = (uint8_t)n;
        if (w->side == SIDE_SUBSCRIBERS && w->who == id)
            drop_kept(t, w);
    }
}
