/* SPDX-License-Identifier: BSD-3-Clause */
/* Stamps: their bytes, and where they are found. */
#include <stdlib.h>
#include <string.h>

#include "common/program.h"
#include "packet/stamp.h"

static const struct stamp one = {.tsc = 0x0102030405060708,
                                 .seq = 0xa0b0c0d0,
                                 .user = 0x11223344,
                                 .stream = 0xfedc,
                                 .instance = 0x9a,
                                 .flags = 0x5b};

static void bytes(void)
{
    static const uint8_t expected[STAMP_LEN] = {0x9d, 0x56, 0x42, 0x6e, 0xfe, 0xdc, 0x9a, 0x5b,
                                                0xa0, 0xb0, 0xc0, 0xd0, 0x11, 0x22, 0x33, 0x44,
                                                0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08};
    uint8_t room[STAMP_LEN + 2];
    struct stamp read;

    memset(room, 0xee, sizeof(room));
    stamp_write(room + 1, &one);
    CU_ASSERT_EQUAL(memcmp(room + 1, expected, STAMP_LEN), 0);
    CU_ASSERT(room[0] == 0xee && room[STAMP_LEN + 1] == 0xee);
    CU_ASSERT_TRUE(stamp_is_at(room + 1));
    read = stamp_read(room + 1);
    CU_ASSERT(read.tsc == one.tsc && read.seq == one.seq && read.user == one.user);
    CU_ASSERT(read.stream == one.stream && read.instance == one.instance);
    CU_ASSERT_EQUAL(read.flags, one.flags);
}

/* At each place and in frames that end right behind it. The memory is as long as the frame, for
 * AddressSanitizer. */
static void found_everywhere(void)
{
    for (uint32_t at = STAMP_FIRST; at <= STAMP_LAST; at += 2) {
        for (uint32_t more = 0; more <= 1500; more += 500) {
            uint32_t len = at + STAMP_LEN + more;
            uint8_t *frame = calloc(1, len);

            stamp_write(frame + at, &one);
            CU_ASSERT_EQUAL(stamp_find(frame, len, STAMP_NONE), at);
            CU_ASSERT_EQUAL(stamp_find(frame, len, at), at);
            CU_ASSERT_EQUAL(stamp_find(frame, len, at + 4), at);
            CU_ASSERT_EQUAL(stamp_find(frame, len, 60000), at);
            /* cut off by one byte: there is none */
            if (more == 0)
                CU_ASSERT_EQUAL(stamp_find(frame, len - 1, at), STAMP_NONE);
            free(frame);
        }
    }
}

/* Headers were pushed and popped: the same stamp is somewhere else. */
static void moved(void)
{
    uint8_t access[74] = {0}, core[98] = {0};

    stamp_write(access + 50, &one);
    stamp_write(core + 74, &one);
    CU_ASSERT_EQUAL(stamp_find(access, sizeof(access), 50), 50);
    CU_ASSERT_EQUAL(stamp_find(core, sizeof(core), 50), 74);
    CU_ASSERT_EQUAL(stamp_find(access, sizeof(access), 74), 50);
}

static void none(void)
{
    uint8_t frame[2048] = {0};

    for (uint32_t len = 0; len <= sizeof(frame); len++)
        CU_ASSERT_EQUAL(stamp_find(frame, len, len % 3 == 0 ? 50 : STAMP_NONE), STAMP_NONE);
    stamp_write(frame + STAMP_LAST + 2, &one); /* nobody puts it there, and nobody looks */
    CU_ASSERT_EQUAL(stamp_find(frame, sizeof(frame), STAMP_NONE), STAMP_NONE);
}

static const struct test tests[] = {
    {"bytes", bytes},
    {"found everywhere", found_everywhere},
    {"moved by other headers", moved},
    {"none", none},
    {NULL, NULL},
};

const struct test_program test_program = {"stamps", tests, NULL, NULL};
