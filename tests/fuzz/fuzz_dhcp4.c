/* SPDX-License-Identifier: BSD-3-Clause */
/* What strangers on a line, and servers behind the gateway, send to vbng-cp: a frame of which the
 * first byte says whether it begins with the message of DHCP, or with Ethernet. What is read can be
 * answered and relayed, and the result read. */
#include <string.h>

#include "cp/packet/dhcp4.h"
#include "cp/packet/dhcp4_copy.h"
#include "cp/packet/udp4.h"
#include "cp/relay/option82.h"
#include "fuzz.h"

static struct cp_config config = {
    .n_access = 1, .access = {{.port = "cpe0", .svlan_last = 4095, .cvlan_last = 4095}}};
static struct cp cp = {.config = &config};
static struct session *line;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    if (sessions_open(&cp.sessions, 1) == 0)
        line = session_get(&cp.sessions, &config.access[0], 100, 7);
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

static void relay(const uint8_t *at, size_t n, const struct dhcp4 *m)
{
    static const struct relay_config r = {.node = "bng1"};
    struct session *found = option82_line(&cp, &r, &m->relay);
    struct dhcp4_bytes option;
    struct dhcp4_change c = {
        .hops = 1, .giaddr = 1, .server = 2, .lease = n % 2 == 0 ? 60 : 0, .relay = &option};
    uint8_t out[1472];
    struct dhcp4 back;

    if (found != NULL && found != line)
        fuzz_fail("a line that there is not");
    option82_write(&r, line, 3, true, &option);
    n = dhcp4_copy(at, n, &c, out, sizeof(out));
    if (n == 0)
        return;
    if (n > sizeof(out) || dhcp4_read(out, n, &back) != NULL)
        fuzz_fail("a copy of %zu bytes cannot be read", n);
    if (back.type != m->type || back.xid != m->xid || back.requested != m->requested ||
        back.server != 2 || back.lease != (c.lease != 0 ? c.lease : m->lease) ||
        option82_line(&cp, &r, &back.relay) != line)
        fuzz_fail("the copy says something else");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct udp4 u = {.data = data + 1, .n = size - 1};
    struct dhcp4 m;

    if (size == 0 || (data[0] % 2 == 0 && udp4_read(data + 1, size - 1, &u) != NULL))
        return 0;
    if (u.data < data || u.data + u.n > data + size)
        fuzz_fail("a datagram beyond its frame");
    if (dhcp4_read(u.data, u.n, &m) != NULL)
        return 0;
    answer(&m, data[0] % 4 < 2 ? DHCP4_OFFER : DHCP4_NAK);
    relay(u.data, u.n, &m);
    return 0;
}
