/* SPDX-License-Identifier: BSD-3-Clause */
/* qinq_decap: both tags and the padding come off. */
#include "frames.h"
#include "tasks/task_types.h"

static void tagged(struct frame *f, uint16_t stci, uint16_t ctci, const struct ip *ip)
{
    put_qinq(f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x88a8, stci, ctci, 0x0800);
    put_ip(f, ip);
    put_pad(f, 60, 0xee);
}

static void untagged(struct frame *f, const struct ip *ip)
{
    put_eth(f, GATEWAY_MAC(CPE0), CPE_MAC(1), 0x0800);
    put_ip(f, ip);
}

static void tags_and_padding(void)
{
    struct rig *r = rig_open(&task_qinq_decap, "", NULL);
    struct ip ip = {.src = 0x0a000001, .dst = 0x14000001, .tos = 0xb9, .ttl = 64, .proto = 17};
    struct frame f, expected;

    for (ip.payload = 0; ip.payload < 60; ip.payload++) {
        tagged(&f, 0xe080, 0xa100, &ip);
        untagged(&expected, &ip);
        BECOMES(r, &f, CPE0, "to", &expected);
        rig_clear(r);
    }
    ip.payload = 1480; /* largest packet of an MTU of 1500 */
    ip.options = 0;
    tagged(&f, 128, 256, &ip);
    untagged(&expected, &ip);
    BECOMES(r, &f, CPE0, "to", &expected);
    ip.options = 10;
    tagged(&f, 128, 256, &ip);
    untagged(&expected, &ip);
    BECOMES(r, &f, CPE0, "to", &expected);
    rig_close(r);
}

/* The outer tag's priority becomes the class selector; ECN stays. */
static void dscp_from_priority(void)
{
    struct rig *r = rig_open(&task_qinq_decap, "dscp=pcp", NULL);
    struct ip ip = {.src = 0x0a000001, .dst = 0x14000001, .ttl = 64, .proto = 17, .payload = 8};
    struct frame f, expected;

    for (unsigned pcp = 0; pcp < 8; pcp++) {
        for (unsigned tos = 0; tos < 256; tos++) {
            ip.tos = (uint8_t)tos;
            tagged(&f, (uint16_t)(pcp << 13 | 128), (uint16_t)((7 - pcp) << 13 | 256), &ip);
            ip.tos = (uint8_t)(pcp << 5 | (tos & 3));
            untagged(&expected, &ip);
            BECOMES(r, &f, CPE0, "to", &expected);
            rig_clear(r);
        }
    }
    rig_close(r);
}

static const struct test tests[] = {
    {"tags and padding come off", tags_and_padding},
    {"DSCP from priority", dscp_from_priority},
    {NULL, NULL},
};

const struct test_program test_program = {"qinq_decap", tests, harness_open, harness_close};
