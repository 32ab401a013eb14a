/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefixes of a session, which has one of each kind at most: 65,536 of them are kept twice. */
#ifndef CP_LINE_PREFIXES_H
#define CP_LINE_PREFIXES_H

#include "base/ipv6.h"

struct line_prefixes {
    struct ipv6 wan;
    uint64_t delegated;
    uint8_t wan_len, delegated_len; /* 0: none */
};

static inline struct line_prefixes line_prefixes_of(const struct cpe_prefixes *p)
{
    struct line_prefixes to = {.wan = p->wan, .wan_len = p->wan_len};

    if (p->n_delegated > 0) {
        to.delegated = p->delegated[0];
        to.delegated_len = p->delegated_len[0];
    }
    return to;
}

static inline struct cpe_prefixes line_prefixes_all(const struct line_prefixes *p)
{
    return (struct cpe_prefixes){.wan = p->wan,
                                 .wan_len = p->wan_len,
                                 .delegated = {p->delegated},
                                 .delegated_len = {p->delegated_len},
                                 .n_delegated = p->delegated_len != 0};
}

#endif
