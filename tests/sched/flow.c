/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow.h"

#include <math.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>

#define L3        22 /* where IP begins */
#define NOTE      64 /* where number, flow and time stand in a frame */
#define SHOWN     96 /* bytes of a frame that are there */
#define REDUCTION 0.7
#define LEAST     2.0 /* packets of a window */
#define TIMEOUT   0.3 /* s */
#define ECT1      0x01
#define ECT0      0x02
#define GAIN      0.0625 /* of a scalable sender's mean */
#define CE        0x03

enum { LOST = 1, MARKED = 2 };

struct note {
    uint32_t number, flow;
    uint64_t sent;
};

static uint64_t cycles(double seconds)
{
    return (uint64_t)(seconds * (double)rte_get_tsc_hz());
}

static void write_ipv4(uint8_t *at, const struct flow *f, uint8_t ecn)
{
    struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)at;
    struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

    ip->version_ihl = RTE_IPV4_VHL_DEF;
    ip->type_of_service = ecn;
    ip->total_length = rte_cpu_to_be_16((uint16_t)(f->size - BED_FCS - L3));
    ip->time_to_live = 64;
    ip->next_proto_id = IPPROTO_UDP;
    ip->src_addr = RTE_BE32(0xc6120001);
    ip->dst_addr = rte_cpu_to_be_32(0x0a000000 + f->pipe);
    udp->src_port = rte_cpu_to_be_16(f->port);
    udp->dst_port = RTE_BE16(443);
    ip->hdr_checksum = rte_ipv4_cksum(ip);
}

static void write_ipv6(uint8_t *at, const struct flow *f, uint8_t ecn)
{
    struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)at;

    ip->vtc_flow = rte_cpu_to_be_32(UINT32_C(6) << 28 | (uint32_t)ecn << 20);
    ip->payload_len = rte_cpu_to_be_16((uint16_t)(f->size - BED_FCS - L3 - sizeof(*ip)));
    ip->proto = IPPROTO_NONE;
    ip->hop_limits = 64;
}

static bool is_ipv6(const uint8_t *at)
{
    return at[0] >> 4 == 6;
}

static struct rte_mbuf *packet(const struct bed *b, const struct flow *f, uint32_t number,
                               uint32_t index)
{
    struct rte_mbuf *m = bed_packet(f->pipe, f->queue, f->size);
    uint8_t *at = rte_pktmbuf_mtod(m, uint8_t *);
    struct note note = {number, index, b->clock};
    uint8_t ecn = f->scalable ? ECT1 : f->ecn ? ECT0 : 0;

    memset(at, 0, SHOWN);
    m->data_len = SHOWN;
    *(rte_be16_t *)(at + 12) = RTE_BE16(0x88a8);
    *(rte_be16_t *)(at + 16) = RTE_BE16(0x8100);
    *(rte_be16_t *)(at + 20) =
        f->is_ipv6 ? RTE_BE16(RTE_ETHER_TYPE_IPV6) : RTE_BE16(RTE_ETHER_TYPE_IPV4);
    (f->is_ipv6 ? write_ipv6 : write_ipv4)(at + L3, f, ecn);
    memcpy(at + NOTE, &note, sizeof(note));
    return m;
}

static void note_event(struct flow *f, uint64_t when, unsigned what)
{
    f->event[f->event_tail++ % FLOW_EVENTS] = when * 4 + what;
    EXPECT(f->event_tail - f->event_head <= FLOW_EVENTS, "a window of more than %u", FLOW_EVENTS);
}

static void reduce(struct flow *f, uint64_t now)
{
    if (now < f->calm_until)
        return;
    f->window = fmax(LEAST, f->window * REDUCTION);
    f->threshold = f->window;
    f->calm_until = now + cycles(f->rtt * 2);
}

/* Take an acknowledgement by DCTCP: once in a round trip, the window shrinks by half the mean share
 * of marks. */
static void hear_scalable(struct flow *f, uint64_t now, bool marked)
{
    f->heard_all++;
    f->heard_marks += marked;
    if (marked)
        f->threshold = fmin(f->threshold, f->window); /* slow start is over */
    if (now < f->calm_until) {
        f->window += f->window < f->threshold ? 1 : 1 / f->window;
        return;
    }
    f->marked_share += GAIN * ((double)f->heard_marks / f->heard_all - f->marked_share);
    if (f->heard_marks > 0)
        f->window = fmax(LEAST, f->window * (1 - f->marked_share / 2));
    f->heard_all = f->heard_marks = 0;
    f->calm_until = now + cycles(f->rtt);
}

/* Take the acknowledgements that have come. */
static void hear(struct flow *f, uint64_t now)
{
    while (f->event_head != f->event_tail && f->event[f->event_head % FLOW_EVENTS] / 4 <= now) {
        unsigned what = (unsigned)(f->event[f->event_head++ % FLOW_EVENTS] % 4);

        f->in_flight -= f->in_flight > 0;
        f->heard = now;
        if (f->scalable && what != LOST)
            hear_scalable(f, now, what == MARKED);
        else if (what != 0)
            reduce(f, now);
        else
            f->window += f->window < f->threshold ? 1 : 1 / f->window;
    }
    if (f->in_flight > 0 && now - f->heard > cycles(TIMEOUT + f->rtt)) {
        f->in_flight = 0;
        f->window = LEAST;
        f->heard = now;
    }
}

static void emit(struct bed *b, struct flow *f, uint32_t index, double seconds)
{
    f->owed += f->pace / 8 / f->size * seconds;
    while (f->pace > 0 ? f->owed >= 1 : f->in_flight < (uint32_t)f->window) {
        struct rte_mbuf *m = packet(b, f, f->next++, index);

        f->owed -= f->pace > 0;
        f->in_flight++;
        sched_enqueue(b->s, &m, 1);
    }
}

static bool checksum_is_right(const struct rte_mbuf *m)
{
    const uint8_t *at = rte_pktmbuf_mtod_offset(m, const uint8_t *, L3);

    return is_ipv6(at) || rte_raw_cksum(at, sizeof(struct rte_ipv4_hdr)) == 0xffff;
}

static void arrive(const struct bed *b, struct flow *all, const struct rte_mbuf *m)
{
    struct note note;
    struct flow *f;
    const uint8_t *at = rte_pktmbuf_mtod_offset(m, const uint8_t *, L3);
    uint8_t ecn = (is_ipv6(at) ? at[1] >> 4 : at[1]) & CE;
    double waited;

    memcpy(&note, rte_pktmbuf_mtod_offset(m, const uint8_t *, NOTE), sizeof(note));
    f = &all[note.flow];
    EXPECT(note.number - f->expected < UINT32_MAX / 2, "flow %u: %u after %u", note.flow,
           note.number, f->expected);
    EXPECT(checksum_is_right(m), "flow %u", note.flow);
    f->lost += note.number - f->expected;
    for (; f->pace == 0 && f->expected != note.number; f->expected++)
        note_event(f, b->clock + cycles(f->rtt), LOST);
    f->expected = note.number + 1;
    if (f->pace == 0)
        note_event(f, b->clock + cycles(f->rtt), ecn == CE ? MARKED : 0);
    waited = (double)(b->clock - note.sent) / (double)rte_get_tsc_hz();
    f->packets++;
    f->bytes += m->pkt_len + BED_FCS;
    f->marked += ecn == CE;
    f->waited += waited;
    f->longest = fmax(f->longest, waited);
}

void flows_start(struct bed *b, struct flow *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        f[i].window = 10;
        f[i].threshold = 1e9;
        f[i].owed = 0;
        f[i].next = f[i].expected = f[i].in_flight = f[i].event_head = f[i].event_tail = 0;
        f[i].calm_until = 0;
        f[i].heard_all = f[i].heard_marks = 0;
        f[i].marked_share = 1;
        f[i].heard = b->clock;
    }
    flows_reset(f, n);
}

void flows_reset(struct flow *f, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        f[i].packets = f[i].bytes = f[i].lost = f[i].marked = 0;
        f[i].waited = f[i].longest = 0;
    }
}

void flows_run(struct bed *b, struct flow *f, unsigned n, double seconds)
{
    uint64_t end = b->clock + cycles(seconds), before = b->clock;
    struct rte_mbuf *m[BED_BURST];

    while (b->clock < end) {
        uint32_t got = bed_dequeue(b, m, BED_BURST);

        for (uint32_t i = 0; i < got; i++)
            arrive(b, f, m[i]);
        rte_pktmbuf_free_bulk(m, got);
        for (unsigned i = 0; i < n; i++) {
            if (f[i].pace == 0)
                hear(&f[i], b->clock);
            emit(b, &f[i], i, (double)(b->clock - before) / (double)rte_get_tsc_hz());
        }
        before = b->clock;
    }
}

double flow_delay(const struct flow *f)
{
    return f->packets > 0 ? f->waited / (double)f->packets : 0;
}

double flows_rate(const struct flow *f, unsigned n, double seconds)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < n; i++)
        bytes += f[i].bytes;
    return (double)bytes * 8 / seconds;
}
