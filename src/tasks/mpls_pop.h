/* SPDX-License-Identifier: BSD-3-Clause */
/* How mpls_pop judges a label stack, for the task itself and for the chains that it is in (fused/).
 */
#ifndef TASKS_MPLS_POP_H
#define TASKS_MPLS_POP_H

#include "engine/task.h"
#include "packet/bytes.h"
#include "packet/ipv6.h"
#include "packet/mpls.h"
#include "tables/dscp.h"
#include "tables/tables.h"

/** The state of an instance. */
struct mpls_pop {
    const uint8_t (*port_mac)[MAC_ROOM];
    uint32_t first, last;          /* accepted labels */
    const struct dscp_table *dscp; /* NULL: no scheduler follows */
    unsigned max_labels;
    bool drop_unlabelled;
};

/** Is a label accepted? Explicit null, which means "no label" (RFC 3032 section 2.1), is good
 * anywhere in a stack (RFC 4182); of the range no special-purpose label is part. */
static inline bool mpls_pop_takes(const struct mpls_pop *p, uint32_t label)
{
    return likely(label - p->first <= p->last - p->first) || label == MPLS_EXPLICIT_NULL;
}

/** Is below a stack of so many bytes, in avail bytes, what the version says to be IPv6? */
static inline bool mpls_pop_is_ipv6(const uint8_t *stack, uint32_t len, uint32_t avail)
{
    return avail >= len + IPV6_LEN && stack[len] >> 4 == 6;
}

/** The length in bytes of a stack in avail bytes whose labels are accepted and whose TTL lets the
 * packet go on, or 0. Explicit null of IPv6 is good but at the bottom above IPv4; whether that of
 * IPv4 is above IPv6 is not looked at. A decremented TTL of 0 must be neither stripped nor
 * forwarded (RFC 3032 section 2.4.2). */
static inline uint32_t mpls_pop_plain_len(const struct mpls_pop *p, const uint8_t *stack,
                                          uint32_t avail)
{
    uint32_t word;
    int len;

    /* one label, as most have */
    if (likely(avail >= MPLS_ENTRY_LEN)) {
        word = net32(load32(stack));
        if (likely(mpls_is_bottom(word) && mpls_ttl(word) > 1 &&
                   mpls_label(word) - p->first <= p->last - p->first))
            return MPLS_ENTRY_LEN;
    }
    len = mpls_stack_len(stack, avail, p->max_labels);
    if (unlikely(len < 0 || mpls_ttl(net32(load32(stack))) <= 1))
        return 0;
    for (int i = 0; i < len; i += MPLS_ENTRY_LEN) {
        uint32_t label = mpls_label(net32(load32(stack + i)));

        if (unlikely(!mpls_pop_takes(p, label) &&
                     (label != MPLS_IPV6_NULL || (i == len - MPLS_ENTRY_LEN &&
                                                  !mpls_pop_is_ipv6(stack, (uint32_t)len, avail)))))
            return 0;
    }
    return (uint32_t)len;
}

#endif
