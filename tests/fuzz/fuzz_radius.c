/* SPDX-License-Identifier: BSD-3-Clause */
/* What a RADIUS server says, as if it were genuine, in memory that ends with the packet. */
#include <stdlib.h>
#include <string.h>

#include "cp/radius/message.h"
#include "cp/radius/seal.h"
#include "fuzz.h"

static const struct radius_config config = {.nas_identifier = "bng1"};
static uint8_t *packet;
static size_t len;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    return 0;
}

static void inside(const char *what, struct radius_octets o)
{
    if (o.n > RADIUS_VALUE_MAX || (o.n > 0 && (o.p < packet || o.p + o.n > packet + len)))
        fuzz_fail("%s is not inside the packet", what);
}

static void prefixes(const struct cpe_prefixes *p)
{
    char buf[DELEGATED_TEXT];

    if (p->n_delegated > CPE_DELEGATED || p->wan_len > 128)
        fuzz_fail("prefixes that cannot be");
    format_delegated(p, buf);
}

static void answer(void)
{
    uint8_t classes[RADIUS_CLASSES_MAX];
    struct radius_answer a;

    radius_read_answer(packet, len, classes, &a);
    inside("the pool", a.pool);
    inside("the pool of IPv6", a.pool6);
    inside("the pool of delegated prefixes", a.delegated_pool);
    inside("the profile", a.profile);
    inside("the message", a.message);
    prefixes(&a.ipv6);
    if (a.classes.n > RADIUS_CLASSES_MAX || (a.interim_s > 0 && a.interim_s < 60))
        fuzz_fail("an answer that cannot be");
}

static void change(void)
{
    struct radius_change c;

    if (radius_read_change(packet, len, &config, &c) != RADIUS_NO_ERROR)
        return;
    inside("the name", c.name);
    inside("the session", c.session);
    inside("the line", c.line);
    inside("the station", c.station);
    inside("the profile", c.profile);
    prefixes(&c.ipv6);
    if (c.disconnect && c.profile.n > 0)
        fuzz_fail("a session that is to end is to have a profile");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t none[RADIUS_AUTHENTICATOR];
    struct radius_octets secret = radius_octets("secret", 6);

    packet = malloc(size > 0 ? size : 1);
    if (packet == NULL)
        return -1;
    memcpy(packet, data, size);
    len = radius_packet_len(packet, size);
    if (len > size)
        fuzz_fail("a packet of %zu in %zu octets", len, size);
    if (len > 0) {
        radius_check_request(packet, len, secret);
        radius_check_answer(packet, len, none, secret);
        answer();
        change();
    }
    free(packet);
    return 0;
}
