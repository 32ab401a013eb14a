/* SPDX-License-Identifier: BSD-3-Clause */
#include "bed.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "common/program.h"

struct radius_octets attribute(const uint8_t *packet, size_t len, enum radius_type type)
{
    struct radius_reader r = radius_attributes(packet, len);
    struct radius_attribute a;

    while (radius_next_attribute(&r, &a))
        if (a.type == type)
            return a.value;
    return radius_octets(NULL, 0);
}

uint32_t number(const uint8_t *packet, size_t len, enum radius_type type)
{
    uint32_t value = 0;

    CU_ASSERT_TRUE(radius_take_u32(attribute(packet, len, type), &value));
    return value;
}

int bind_socket(union radius_address *at)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(at->ipv4);

    memset(at, 0, sizeof(*at));
    at->ipv4.sin_family = AF_INET;
    at->ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, &at->any, len) != 0 || getsockname(fd, &at->any, &len) != 0)
        abort();
    return fd;
}
