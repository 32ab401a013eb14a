/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LCP echoes (RFC 1661 section 5.8) of subscribers in PPPoE sessions: requests of CPEs are
 * answered, and each CPE is asked once in an interval, over which the subscribers are spread, so
 * that no burst leaves however many they are. Who leaves three requests unanswered is reported to
 * the control plane, by the last of them, again in each interval until there is an answer or the
 * session is gone.
 */
#include <errno.h>

#include <rte_malloc.h>

#include "packet/frame.h"
#include "packet/lcp.h"
#include "packet/pppoe.h"
#include "tasks/arp/instance.h"
#include "tasks/arp/lines.h"

#define LOOK_MAX   256u            /* subscribers looked at in one round of the core */
#define SEND_MAX   (BURST_MAX / 2) /* requests sent in one round */
#define UNANSWERED 3               /* requests, after which a CPE is taken for gone */

int arp_echo_init(struct arp *a, uint32_t interval, int socket)
{
    uint64_t entries = a->tables->subscribers->capacity;

    if (a->control == NULL)
        return 0; /* what is of PPP does not come here */
    a->echo =
        rte_zmalloc_socket("echoes", (entries + 1) * sizeof(*a->echo), RTE_CACHE_LINE_SIZE, socket);
    if (a->echo == NULL)
        return -ENOMEM;
    if (interval != 0)
        arp_walk_pace(&a->echoes, entries, interval);
    return 0;
}

void arp_echo_free(struct arp *a)
{
    rte_free(a->echo);
    a->echo = NULL;
}

void arp_echo_forget(struct arp *a, uint32_t id)
{
    if (a->echo != NULL)
        a->echo[id] = (struct arp_echo){0};
}

/* Write the headers of a frame with an echo of len bytes, which lies behind their place. */
static void write_headers(uint8_t *f, const struct subscriber *s, uint32_t len)
{
    memcpy(f, s->l2, QINQ_LEN - 2);
    store16(f + QINQ_LEN - 2, RTE_BE16(PPPOE_TYPE));
    pppoe_write(f + QINQ_LEN, s->session, PPP_LCP, len);
}

/* Answer a request in its mbuf, with its data, and the magic number of this end. */
static void answer(struct task *t, struct rte_mbuf *m, uint32_t id, uint8_t *lcp)
{
    struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    uint32_t len = net16(load16(lcp + 2));

    lcp[0] = LCP_ECHO_REPLY;
    store32(lcp + 4, net32(a->tables->subscribers->magic[id]));
    write_headers(frame_bytes(m), s, len);
    frame_set(m, 0, PPPOE_QINQ_LEN + len);
    meta_set_out_port(m, s->port);
    a->echoes_answered++;
    arp_send(t, m);
}

bool arp_echo_receive(struct task *t, struct rte_mbuf *m, const struct arp_frame *f, uint32_t id)
{
    struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    uint32_t magic = a->tables->subscribers->magic[id];
    uint8_t *lcp = f->bytes + PPPOE_QINQ_LEN;
    struct pppoe p;

    if (s->session == 0 || !pppoe_read(f->bytes + QINQ_LEN, f->avail, &p) ||
        p.session != net16(s->session) || p.protocol != PPP_LCP || !eth_is_to(f->bytes + 6, s->l2))
        return false;
    if (lcp_is_echo(lcp, p.len, LCP_ECHO_REPLY)) {
        if (a->notes == NULL)
            a->echo[id].unanswered = 0;
        task_consume(t, &m, 1);
        return true;
    }
    /* this end's own magic number is that of a looped line, which the control plane handles */
    if (!lcp_is_echo(lcp, p.len, LCP_ECHO_REQUEST) ||
        (magic != 0 && net32(load32(lcp + 4)) == magic))
        return false;
    answer(t, m, id, lcp);
    return true;
}

/* Make a request. Returns NULL where the pool is exhausted. */
static struct rte_mbuf *request(struct task *t, uint32_t id, uint8_t identifier)
{
    const struct subscriber_table *subscribers =
        ((const struct arp *)t->state)->tables->subscribers;
    const struct subscriber *s = &subscribers->record[id];
    struct rte_mbuf *m = arp_new_frame(t, s->l2, QINQ_LEN, PPPOE_PPP_LEN + LCP_ECHO_LEN);

    if (m == NULL)
        return NULL;
    write_headers(frame_bytes(m), s, LCP_ECHO_LEN);
    lcp_write_echo(frame_bytes(m) + PPPOE_QINQ_LEN, LCP_ECHO_REQUEST, identifier,
                   subscribers->magic[id]);
    return m;
}

/* Tell the control plane of a CPE by the request that it has not answered. */
static uint16_t report(struct task *t, uint32_t id)
{
    struct arp *a = t->state;
    struct rte_mbuf *m = request(t, id, a->echo[id].identifier);

    if (m == NULL)
        return 0;
    a->echoes_unanswered++;
    arp_give_ppp(t, m, id);
    return 1;
}

static uint16_t ask(struct task *t, uint32_t id)
{
    struct arp *a = t->state;
    const struct subscriber *s = &a->tables->subscribers->record[id];
    struct rte_mbuf *m = request(t, id, (uint8_t)(a->echo[id].identifier + 1));

    if (m == NULL)
        return 0;
    a->echo[id].identifier++;
    if (a->echo[id].unanswered < UNANSWERED)
        a->echo[id].unanswered++;
    a->echo_requests++;
    arp_send_question(t, m, s->port);
    return 1;
}

uint16_t arp_echo_all(struct task *t)
{
    struct arp *a = t->state;
    uint64_t entries = a->tables->subscribers->capacity;
    uint32_t look = arp_walk_due(&a->echoes, entries, LOOK_MAX);
    uint16_t sent = 0;

    for (; look > 0 && sent < SEND_MAX; look--) {
        uint32_t id = arp_walk_next(&a->echoes, entries) + 1;

        if (a->tables->subscribers->record[id].session == 0 || !arp_is_whole(a, id))
            continue;
        if (a->echo[id].unanswered == UNANSWERED)
            sent += report(t, id);
        sent += ask(t, id);
    }
    return sent;
}
