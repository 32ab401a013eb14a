/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of next hops: each gets its share of flows, and a change moves no flow but those that must.
 */
#include "packet/flow.h"
#include "tables_bed.h"

#define FLOWS    65536u
#define NEXTHOPS 600u

static const uint8_t gateway_mac[6] = {2, 0, 0, 0, 0, 9};
static struct nexthop table[NEXTHOPS + 1];
static struct ipv6 via[NEXTHOPS + 1];

static void fill_table(void)
{
    for (uint32_t i = 1; i <= NEXTHOPS; i++) {
        struct nexthop_spec s = {.port = (uint8_t)(i % 4), .mtu = 1500, .gateway_mac = gateway_mac};

        nexthop_init(&table[i], &s);
        via[i] = i % 2 == 0 ? mapped6(0xc0000200 + i / 4)
                            : (struct ipv6){UINT64_C(0xfe80000000000000), i / 4};
    }
}

/* Packets as a few subscribers send them to a few servers: addresses and ports that follow each
 * other, which a weak hash would not spread. */
static uint32_t flow_number(uint32_t i)
{
    uint8_t ip[24] = {0x45, 0, 0, 24, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 0, 198, 18, 0, 0};

    ip[15] = (uint8_t)(i & 63);
    ip[19] = (uint8_t)(i >> 6 & 15);
    ip[21] = (uint8_t)(i >> 10 & 63);
    ip[23] = 53;
    return flow_of_ipv4(ip, sizeof(ip));
}

static struct nexthop_set set_of(const uint32_t *id, uint32_t n)
{
    struct nexthop_set set;

    nexthop_set_init(&set, table, via, id, n);
    return set;
}

/* The shares of n next hops are equal but for chance: within 5 standard deviations. */
static void shares(void)
{
    uint32_t id[NEXTHOP_SET_MOST];

    for (uint32_t n = 2; n <= NEXTHOP_SET_MOST; n++) {
        uint32_t count[NEXTHOPS + 1] = {0};
        double mean = (double)FLOWS / n, variance = mean * (1 - 1.0 / n);
        struct nexthop_set set;

        for (uint32_t i = 0; i < n; i++)
            id[i] = 1 + n * 16 + i * 3;
        set = set_of(id, n);
        CU_ASSERT_EQUAL(nexthop_set_size(&set), n);
        for (uint32_t f = 0; f < FLOWS; f++)
            count[nexthop_set_pick(&set, flow_number(f))]++;
        for (uint32_t i = 0; i < n; i++) {
            double off = count[id[i]] - mean;

            CU_ASSERT(off * off < 25 * variance);
        }
    }
}

/* What one of n next hops had is all that moves when it goes, and what it gets is all that moves
 * when it comes; and the others get like parts of it. */
static void moves(void)
{
    uint32_t id[NEXTHOP_SET_MOST], fewer[NEXTHOP_SET_MOST];

    for (uint32_t n = 3; n <= NEXTHOP_SET_MOST; n++) {
        uint32_t got[NEXTHOPS + 1] = {0}, moved = 0, gone = n / 2, k = 0;
        struct nexthop_set all, without;

        for (uint32_t i = 0; i < n; i++) {
            id[i] = 1 + n * 16 + i * 5;
            if (i != gone)
                fewer[k++] = id[i];
        }
        all = set_of(id, n);
        without = set_of(fewer, k);
        for (uint32_t f = 0; f < FLOWS; f++) {
            uint32_t flow = flow_number(f), was = nexthop_set_pick(&all, flow),
                     is = nexthop_set_pick(&without, flow);

            if (was != id[gone])
                CU_ASSERT_EQUAL_FATAL(is, was);
            moved += was == id[gone];
            got[is] += was == id[gone];
        }
        for (uint32_t i = 0; i < k; i++) {
            double mean = (double)moved / k, off = got[fewer[i]] - mean;

            CU_ASSERT(off * off < 25 * mean);
        }
    }
}

/* The order of the next hops says nothing, nor do the numbers that they have. */
static void order(void)
{
    static const uint32_t one[] = {7, 130, 3, 44}, other[] = {44, 3, 130, 7};
    static const uint32_t copies[] = {NEXTHOPS, NEXTHOPS - 1, NEXTHOPS - 2, NEXTHOPS - 3};
    struct nexthop_set a = set_of(one, 4), b = set_of(other, 4), c;
    struct nexthop was[4];
    struct ipv6 via_was[4];

    for (unsigned i = 0; i < 4; i++) {
        was[i] = table[copies[i]];
        via_was[i] = via[copies[i]];
        table[copies[i]] = table[one[i]];
        via[copies[i]] = via[one[i]];
    }
    c = set_of(copies, 4);
    for (uint32_t f = 0; f < FLOWS; f++) {
        uint32_t flow = flow_number(f), id = nexthop_set_pick(&a, flow);

        CU_ASSERT_EQUAL_FATAL(nexthop_set_pick(&b, flow), id);
        CU_ASSERT_FATAL(same6(via[nexthop_set_pick(&c, flow)], via[id]));
        CU_ASSERT_EQUAL_FATAL(table[nexthop_set_pick(&c, flow)].port, table[id].port);
    }
    for (unsigned i = 0; i < 4; i++) {
        table[copies[i]] = was[i];
        via[copies[i]] = via_was[i];
    }
}

/* Where only some MACs are known, flows go as in a set of those. */
static void known(void)
{
    static const uint32_t id[] = {5, 6, 7, 8, 9}, known_ones[] = {6, 9, 8};
    static const uint8_t mac[6] = {2, 0, 0, 0, 1, 1};
    struct nexthop_set all = set_of(id, 5), some = set_of(known_ones, 3);

    CU_ASSERT_EQUAL(nexthop_set_pick_known(&all, table, 1), 0);
    for (unsigned i = 0; i < 3; i++)
        nexthop_set_mac(&table[known_ones[i]], mac);
    for (uint32_t f = 0; f < FLOWS; f++) {
        uint32_t flow = flow_number(f);

        CU_ASSERT_EQUAL_FATAL(nexthop_set_pick_known(&all, table, flow),
                              nexthop_set_pick(&some, flow));
    }
    for (unsigned i = 0; i < 3; i++)
        nexthop_set_mac(&table[known_ones[i]], NULL);
}

/* Seeds have 16 bits; of any two next hops both get flows. */
static void seeds(void)
{
    unsigned same = 0;

    for (uint32_t a = 1; a <= NEXTHOPS; a++)
        for (uint32_t b = a + 1; b <= NEXTHOPS; b++) {
            uint32_t id[2] = {a, b};
            struct nexthop_set set = set_of(id, 2);

            same += set.seed[0] == set.seed[1];
        }
    CU_ASSERT_EQUAL(same, 0);
}

static uint32_t flow_with(uint8_t proto, uint16_t fragment, uint8_t length, uint8_t port)
{
    uint8_t ip[28] = {0x45,
                      0,
                      0,
                      length,
                      0,
                      0,
                      (uint8_t)(fragment >> 8),
                      (uint8_t)fragment,
                      64,
                      proto,
                      0,
                      0,
                      10,
                      0,
                      0,
                      1,
                      198,
                      18,
                      0,
                      1,
                      0,
                      7,
                      0,
                      port};

    return flow_of_ipv4(ip, sizeof(ip));
}

/* Ports tell flows of UDP, TCP and SCTP from each other, but no fragments, and no other protocols.
 */
static void flows(void)
{
    static const uint8_t with_ports[] = {6, 17, 132}, without[] = {1, 47, 50};

    for (unsigned i = 0; i < 3; i++) {
        CU_ASSERT_NOT_EQUAL(flow_with(with_ports[i], 0x4000, 28, 1),
                            flow_with(with_ports[i], 0x4000, 28, 2));
        CU_ASSERT_EQUAL(flow_with(with_ports[i], 0x2000, 28, 1),
                        flow_with(with_ports[i], 0x0003, 28, 2));
        CU_ASSERT_EQUAL(flow_with(with_ports[i], 0, 20, 1), flow_with(with_ports[i], 0, 20, 2));
        CU_ASSERT_EQUAL(flow_with(without[i], 0, 28, 1), flow_with(without[i], 0, 28, 2));
    }
    CU_ASSERT_NOT_EQUAL(flow_with(6, 0, 28, 1), flow_with(17, 0, 28, 1));
}

static int set_open(void)
{
    fill_table();
    return 0;
}

static int set_close(void)
{
    return 0;
}

static const struct test tests[] = {
    {"shares of flows", shares},
    {"flows that move", moves},
    {"order", order},
    {"known MACs", known},
    {"seeds of any two", seeds},
    {"flows", flows},
    {NULL, NULL},
};

const struct test_program test_program = {"nexthop set", tests, set_open, set_close};
