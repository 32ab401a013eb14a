/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/packet/octets.h"

#include <stdlib.h>
#include <string.h>

bool octets_set(struct octets **o, const void *at, size_t n)
{
    free(*o);
    *o = n > 0 ? malloc(sizeof(**o) + n) : NULL;
    if (*o == NULL)
        return n == 0;
    (*o)->n = (uint16_t)n;
    memcpy((*o)->at, at, n);
    return true;
}

size_t octets_append(const struct octets *o, uint8_t *to, size_t n, size_t room)
{
    if (o == NULL)
        return n;
    if (o->n > room - n)
        return 0;
    memcpy(to + n, o->at, o->n);
    return n + o->n;
}
