/* SPDX-License-Identifier: BSD-3-Clause */
/* What strangers on a line, and servers behind the gateway, send to vbng-cp of DHCPv6: a frame of
 * which the first byte says whether it begins with the message, or with Ethernet, and whether the
 * line has a lease. What is read can be answered and relayed, and the result read. */
#include <stdlib.h>
#include <string.h>

#include "cp/dhcp6/answer.h"
#include "cp/packet/dhcp6_relay.h"
#include "cp/packet/udp6.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    return 0;
}

static void answer(const struct dhcp6 *m, bool has_lease)
{
    static const struct ipv6 dns[DHCP6_MAX_SERVERS];
    static const struct dhcp6_network network = {dns, DHCP6_MAX_SERVERS, "example.net", 600};
    static const struct dhcp6_duid server = {4, "vbng"};
    struct session6 v6 = {.state = LEASE_UP,
                          .has_wan = true,
                          .wan_len = 64,
                          .has_delegated = true,
                          .delegated_len = 56,
                          .na = {true, 7},
                          .pd = {true, 8},
                          .wan = {UINT64_C(0x20010db800000000), 9}};
    struct session line = {.v6 = has_lease ? &v6 : NULL};
    uint8_t out[1472];
    struct dhcp6 a, back;
    size_t n;

    session6_set_client(&v6, &m->client);
    answer6_make(&line, m, DHCP6_REPLY, &server, 60, &a);
    free(v6.duid);
    n = dhcp6_write(&a, &network, out, sizeof(out));
    if (n == 0 || n > sizeof(out) || dhcp6_read(out, n, &back) != NULL)
        fuzz_fail("an answer of %zu bytes cannot be read", n);
    if (back.xid != m->xid || back.n_ia != a.n_ia || back.n_lease != a.n_lease ||
        !dhcp6_same_duid(&back.client, &m->client) || !dhcp6_same_duid(&back.server, &server))
        fuzz_fail("the answer says something else");
}

/* What a server says is copied for the client, and what a client says is packed for the server. */
static void relay(const uint8_t *at, size_t n)
{
    struct dhcp6_relayed r = {
        .interface = "line", .n_interface = 4, .remote = "l", .n_remote = 1, .message = at, .n = n};
    uint8_t copy[2048], out[2048 + 64];
    struct dhcp6_relayed back;
    struct dhcp6 m;
    size_t len;

    if (n > sizeof(copy))
        return;
    len = dhcp6_copy_beside(at, n, copy);
    if (len > n)
        fuzz_fail("%zu bytes of options", len);
    len = dhcp6_copy(at, n, n % 2 == 0 ? 60 : UINT32_MAX, copy);
    if (len > n || dhcp6_read(copy, len, &m) != NULL)
        fuzz_fail("a copy of %zu bytes cannot be read", len);
    len = dhcp6_relay_write(&r, out, sizeof(out));
    if (len == 0)
        fuzz_fail("there is room for %zu bytes", n);
    out[0] = DHCP6_RELAY_REPL;
    if (dhcp6_relay_read(out, len, &back) != NULL || back.n != n ||
        memcmp(back.message, at, n) != 0)
        fuzz_fail("what is relayed is something else");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct udp6 u = {.data = data + 1, .n = size - 1};
    struct dhcp6_relayed in;
    struct dhcp6 m;

    if (size == 0 || (data[0] % 2 == 0 && udp6_read(data + 1, size - 1, &u) != NULL))
        return 0;
    if (u.data < data || u.data + u.n > data + size)
        fuzz_fail("a datagram beyond its frame");
    if (dhcp6_relay_read(u.data, u.n, &in) == NULL) { /* a server's, to the relay */
        u.data = in.message;
        u.n = in.n;
    }
    if (dhcp6_read(u.data, u.n, &m) != NULL)
        return 0;
    answer(&m, data[0] % 4 < 2);
    relay(u.data, u.n);
    return 0;
}
