/* SPDX-License-Identifier: BSD-3-Clause */
/* What tasks and paths are compared with: loops without engine, between the same ports. */
#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "bench.h"

static uint64_t sum_bytes(struct rte_mbuf **m, uint16_t n)
{
    uint64_t sum = 0;

    for (uint16_t i = 0; i < n; i++)
        sum += __atomic_load_n(&m[i]->pkt_len, __ATOMIC_RELAXED); /* no gathering: link.c */
    return sum;
}

static void serve_bare(struct bench *b, const struct bench_case *c)
{
    uint16_t in = b->wires[WIRE_ACCESS].port, out = b->wires[WIRE_CORE].port, n;
    struct rte_mbuf *m[BURST];
    uint64_t bytes = 0;

    while ((n = rte_eth_rx_burst(in, 0, m, BURST)) > 0) {
        if (c->bytes)
            bytes += sum_bytes(m, n);
        rte_eth_tx_burst(out, 0, m, n);
    }
    b->bytes += bytes;
}

double pass_bare(struct bench *b, const struct bench_case *c)
{
    return pass_loop(b, c, serve_bare);
}

/* Where a packet's subscriber is, by the number that its source MAC ends in. */
static inline volatile uint32_t *subscriber_word(struct subscriber *records,
                                                 const volatile uint32_t *header)
{
    const volatile uint8_t *mac = (const volatile uint8_t *)header + RTE_ETHER_ADDR_LEN;

    return (volatile uint32_t *)&records[1 + ((uint32_t)mac[4] << 8 | mac[5])].ipv4_net;
}

static inline void touch_both(volatile uint32_t *header, volatile uint32_t *record)
{
    uint32_t value = *record;

    *record = value;
    *header ^= value;
}

/* Read and write one header line and one subscriber line of each packet. */
static void touch(struct rte_mbuf **m, uint16_t n, struct subscriber *records)
{
    for (uint16_t i = 0; i < n; i++) {
        volatile uint32_t *header = rte_pktmbuf_mtod(m[i], volatile uint32_t *);

        touch_both(header, subscriber_word(records, header));
    }
}

/* The same in passes, each of which prefetches what the next one reads. */
static void touch_prefetched(struct rte_mbuf **m, uint16_t n, struct subscriber *records)
{
    volatile uint32_t *header[BURST], *record[BURST];

    for (uint16_t i = 0; i < n; i++)
        rte_prefetch0(m[i]);
    for (uint16_t i = 0; i < n; i++) {
        header[i] = rte_pktmbuf_mtod(m[i], volatile uint32_t *);
        rte_prefetch0(header[i]);
    }
    for (uint16_t i = 0; i < n; i++) {
        record[i] = subscriber_word(records, header[i]);
        rte_prefetch0(record[i]);
    }
    for (uint16_t i = 0; i < n; i++)
        touch_both(header[i], record[i]);
}

static void serve_floor(struct bench *b, const struct bench_case *c)
{
    uint16_t in = b->wires[WIRE_ACCESS].port, out = b->wires[WIRE_CORE].port, n;
    struct subscriber *records = b->tables->subscribers->record;
    struct rte_mbuf *m[BURST];

    while ((n = rte_eth_rx_burst(in, 0, m, BURST)) > 0) {
        if (c->prefetch)
            touch_prefetched(m, n, records);
        else
            touch(m, n, records);
        rte_eth_tx_burst(out, 0, m, n);
    }
}

double pass_floor(struct bench *b, const struct bench_case *c)
{
    return pass_loop(b, c, serve_floor);
}
