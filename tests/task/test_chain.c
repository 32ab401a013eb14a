/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole path in each direction by direct calls: what comes in at one end and what leaves at the
 * other, and that nothing on the way gets lost, whatever the frames are. */
#include "frames.h"
#include "engine/link.h"
#include "tasks/task_types.h"

#define MAX_CHAIN 5

struct chain {
    unsigned n;
    struct rig *rig[MAX_CHAIN];
};

static struct chain chain_open(const struct task_type *const *types, unsigned n)
{
    struct chain c = {.n = n};

    for (unsigned i = 0; i < n; i++)
        c.rig[i] = rig_open(types[i], "", i + 1 < n ? NULL : "to:4");
    for (unsigned i = 0; i + 1 < n; i++)
        link_to_task(rig_task(c.rig[i])->output[0], rig_task(c.rig[i + 1]));
    return c;
}

static struct chain upstream(void)
{
    static const struct task_type *const types[] = {&task_classify, &task_qinq_decap, &task_route,
                                                    &task_gre_encap, &task_mpls_push};

    return chain_open(types, RTE_DIM(types));
}

static struct chain downstream(void)
{
    static const struct task_type *const types[] = {&task_mpls_pop, &task_gre_decap,
                                                    &task_qinq_encap};

    return chain_open(types, RTE_DIM(types));
}

static void chain_clear(struct chain *c)
{
    for (unsigned i = 0; i < c->n; i++)
        rig_clear(c->rig[i]);
}

static void chain_close(struct chain *c)
{
    chain_clear(c);
    for (unsigned i = 0; i < c->n; i++)
        rig_close(c->rig[i]);
}

/* Packets that have ended somewhere: dropped, punted, or left by the last task. */
static uint64_t chain_ends(const struct chain *c)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < c->n; i++) {
        const struct task *t = rig_task(c->rig[i]);

        for (unsigned d = 0; d < N_TASK_DROPS; d++)
            sum += t->drops[d];
        for (unsigned o = i + 1 < c->n ? 1 : 0; o < t->n_outs; o++)
            sum += t->outs[o].sent;
    }
    return sum;
}

static struct frame from_cpe(uint16_t payload)
{
    const struct ip ip = {.src = 0x0a000001,
                          .dst = 0x14000001,
                          .tos = 0xb8,
                          .ttl = 64,
                          .proto = 17,
                          .payload = payload};
    struct frame f = {0};

    put_qinq(&f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, 0xe080, 0x0100, 0x0800);
    put_ip(&f, &ip);
    put_pad(&f, 60, 0xee);
    return f;
}

static struct frame to_core(uint16_t payload)
{
    const struct ip inner = {.src = 0x0a000001,
                             .dst = 0x14000001,
                             .tos = 0xb8,
                             .ttl = 63,
                             .proto = 17,
                             .payload = payload};
    const struct ip outer = {.src = ADDR_CORE0,
                             .dst = 0xc0000201,
                             .tos = 0xb8,
                             .ttl = 64,
                             .proto = 47,
                             .fragment = 0x4000};
    struct frame f = {0};

    put_eth(&f, CORE_MAC(1), GATEWAY_MAC(CORE0), 0x8847);
    put32(&f, (16 + NH_GRE_MPLS) << 12 | 5 << 9 | 0x100 | 64);
    put_ip_header(&f, &outer, 8 + 20u + payload);
    put32(&f, 0x20000800);
    put32(&f, 0x1001);
    put_ip(&f, &inner);
    return f;
}

static struct frame from_core(uint16_t payload)
{
    const struct ip inner = {.src = 0x14000001,
                             .dst = 0x0a000001,
                             .tos = 0x48,
                             .ttl = 50,
                             .proto = 17,
                             .payload = payload};
    const struct ip outer = {.src = 0xc0000201, .dst = ADDR_CORE0, .ttl = 61, .proto = 47};
    struct frame f = {0};

    put_eth(&f, GATEWAY_MAC(CORE1), CORE_MAC(1), 0x8847);
    put32(&f, 99 << 12 | 0x100 | 61);
    put_ip_header(&f, &outer, 8 + 20u + payload);
    put32(&f, 0x20000800);
    put32(&f, 0x1001);
    put_ip(&f, &inner);
    return f;
}

static struct frame to_cpe(uint16_t payload)
{
    const struct ip ip = {.src = 0x14000001,
                          .dst = 0x0a000001,
                          .tos = 0x48,
                          .ttl = 49,
                          .proto = 17,
                          .payload = payload};
    struct frame f = {0};

    put_qinq(&f, CPE_MAC(SUB_CPE0), GATEWAY_MAC(CPE0), 0x88a8, 2 << 13 | 128, 2 << 13 | 256,
             0x0800);
    put_ip(&f, &ip);
    put_pad(&f, 60, 0);
    return f;
}

/* 64 and 78 bytes with FCS are the paper's smallest; 1468 is what fits behind tunnel and label. */
static void upstream_sizes(void)
{
    struct chain c = upstream();

    for (uint16_t payload = 0; payload <= 1468 - 20; payload++) {
        struct frame f = from_cpe(payload), expected = to_core(payload);

        rig_fate(c.rig[0], frame_mbuf(&f, CPE0));
        if (!mbuf_is(rig_out(c.rig[4], "to", CORE0, 0), expected.b, expected.len))
            CU_FAIL("upstream");
        chain_clear(&c);
    }
    /* the 1510-byte subscriber frame that aborted the predecessor: DF is clear, so it is cut */
    {
        struct frame f = from_cpe(1468);

        rig_fate(c.rig[0], frame_mbuf(&f, CPE0));
        CU_ASSERT_EQUAL(rig_captured(c.rig[2], "fragment"), 1);
    }
    chain_close(&c);
}

static void downstream_sizes(void)
{
    struct chain c = downstream();

    for (uint16_t payload = 0; payload <= 1480; payload++) {
        struct frame f = from_core(payload), expected = to_cpe(payload);

        rig_fate(c.rig[0], frame_mbuf(&f, CORE1));
        if (!mbuf_is(rig_out(c.rig[2], "to", CPE0, 0), expected.b, expected.len))
            CU_FAIL("downstream");
        chain_clear(&c);
    }
    chain_close(&c);
}

static void cut(struct chain *c, const struct frame *f, uint16_t port, uint16_t spare)
{
    struct frame part = *f;
    uint64_t before = chain_ends(c);

    for (part.len = 0; part.len < f->len; part.len++) {
        mbuf_guard(spare);
        rig_fate(c->rig[0], frame_mbuf(&part, port));
        chain_clear(c);
    }
    CU_ASSERT_EQUAL(chain_ends(c) - before, f->len);
}

/* Bursts of frames with a few bytes changed; headers are made right again half of the time, so that
 * the changes get past the first checks. */
static void noise(struct chain *c, const struct frame *f, uint16_t port, const uint8_t *headers,
                  unsigned n_headers)
{
    struct rte_mbuf *m[BURST_MAX];
    const unsigned rounds = 1000;
    uint64_t before = chain_ends(c);

    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < BURST_MAX; i++) {
            struct frame part = *f;

            for (unsigned k = random32() % 3; k > 0; k--)
                part.b[random32() % f->len] = (uint8_t)random32();
            for (unsigned k = 0; k < n_headers && random32() % 2 == 0; k++)
                fix_ip(&part, headers[k]);
            part.len = (uint16_t)(f->len - (random32() % 4 == 0 ? random32() % f->len : 0));
            m[i] = frame_mbuf(&part, port);
        }
        rig_burst(c->rig[0], m, BURST_MAX);
        chain_clear(c);
    }
    CU_ASSERT_EQUAL(chain_ends(c) - before, rounds * BURST_MAX);
}

static void upstream_noise(void)
{
    static const uint8_t headers[] = {22};
    struct chain c = upstream();
    struct frame f = from_cpe(30);

    cut(&c, &f, CPE0, 0);
    noise(&c, &f, CPE0, headers, RTE_DIM(headers));
    CU_ASSERT(rig_task(c.rig[4])->in > 1000); /* the unchanged and the mended came through */
    chain_close(&c);
}

static void downstream_noise(void)
{
    static const uint8_t headers[] = {18, 46};
    struct chain c = downstream();
    struct frame f = from_core(30);

    cut(&c, &f, CORE1, (uint16_t)(f.len + 18));
    noise(&c, &f, CORE1, headers, RTE_DIM(headers));
    CU_ASSERT(rig_task(c.rig[2])->in > 1000);
    chain_close(&c);
}

static const struct test tests[] = {
    {"upstream, every size", upstream_sizes},
    {"downstream, every size", downstream_sizes},
    {"upstream, cut and noise", upstream_noise},
    {"downstream, cut and noise", downstream_noise},
    {NULL, NULL},
};

const struct test_program test_program = {"chain", tests, harness_open, harness_close};
