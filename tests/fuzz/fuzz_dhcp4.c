/* SPDX-License-Identifier: BSD-3-Clause */
/* What strangers on a line send to vbng-cp: a frame of which the first byte says whether it begins
 * with the message of DHCP, or with Ethernet. What is read can be answered, and the answer read. */
#include <string.h>

#include "cp/packet/dhcp4.h"
#include "cp/packet/udp4.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    return 0;
}

static void answer(const struct dhcp4 *m, uint8_t type)
{
    struct dhcp4_reply r = {.type = type,
                            .address = 0x0a000009,
                            .server = 0x0a000001,
                            .mask = 0xffffff00,
                            .router = 0x0a000001,
                            .broadcast = 0x0a0000ff,
                            .dns = {1, 2, 3, 4},
                            .n_dns = DHCP4_MAX_SERVERS,
                            .domain = "example.net",
                            .lease = 60,
                            .text = "why"};
    uint8_t out[1472];
    size_t n = dhcp4_write(m, &r, out, sizeof(out));
    struct dhcp4 back;

    if (n > sizeof(out) || dhcp4_read(out, n, &back) != NULL)
        fuzz_fail("an answer of %zu bytes cannot be read", n);
    if (back.type != type || back.xid != m->xid || back.server != r.server || back.lease != r.lease)
        fuzz_fail("the answer says something else");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct udp4 u = {.data = data + 1, .n = size - 1};
    struct dhcp4 m;

    if (size == 0 || (data[0] % 2 == 0 && udp4_read(data + 1, size - 1, &u) != NULL))
        return 0;
    if (u.data < data || u.data + u.n > data + size)
        fuzz_fail("a datagram beyond its frame");
    if (dhcp4_read(u.data, u.n, &m) == NULL)
        answer(&m, data[0] % 4 < 2 ? DHCP4_OFFER : DHCP4_NAK);
    return 0;
}
