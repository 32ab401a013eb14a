/* SPDX-License-Identifier: BSD-3-Clause */
#include "cp/packet/ppp.h"

#include <string.h>

#include "cp/packet/bytes.h"

#define OPTION_HEADER 2

const char *ppp_read(struct ppp_bytes bytes, struct ppp_packet *p)
{
    uint16_t n;

    if (bytes.n < PPP_HEADER)
        return "it is shorter than its header";
    n = get16(bytes.at + 2);
    if (n < PPP_HEADER || n > bytes.n)
        return "its length is not that of its data";
    *p = (struct ppp_packet){.code = bytes.at[0],
                             .id = bytes.at[1],
                             .data = {bytes.at + PPP_HEADER, n - (size_t)PPP_HEADER}};
    return NULL;
}

size_t ppp_write(const struct ppp_packet *p, uint8_t to[PPP_MOST])
{
    size_t n = p->data.n < PPP_MOST - PPP_HEADER ? p->data.n : PPP_MOST - PPP_HEADER;

    if (n > 0)
        memmove(to + PPP_HEADER, p->data.at, n);
    to[0] = p->code;
    to[1] = p->id;
    put16(to + 2, (uint16_t)(PPP_HEADER + n));
    return PPP_HEADER + n;
}

/* --- options --- */

bool ppp_options_right(struct ppp_bytes options)
{
    while (options.n > 0) {
        if (options.n < OPTION_HEADER || options.at[1] < OPTION_HEADER || options.at[1] > options.n)
            return false;
        options.n -= options.at[1];
        options.at += options.at[1];
    }
    return true;
}

bool ppp_option_next(struct ppp_bytes *options, struct ppp_option *o)
{
    uint8_t len;

    if (options->n == 0)
        return false;
    len = options->at[1];
    *o = (struct ppp_option){.type = options->at[0],
                             .value = {options->at + OPTION_HEADER, len - (size_t)OPTION_HEADER},
                             .whole = {options->at, len}};
    options->at += len;
    options->n -= len;
    return true;
}

void ppp_put(struct ppp_options *to, uint8_t type, const void *value, size_t n)
{
    if (n + OPTION_HEADER > UINT8_MAX || to->n + OPTION_HEADER + n > sizeof(to->at))
        return;
    to->at[to->n] = type;
    to->at[to->n + 1] = (uint8_t)(OPTION_HEADER + n);
    if (n > 0)
        memcpy(to->at + to->n + OPTION_HEADER, value, n);
    to->n += OPTION_HEADER + n;
}

void ppp_put16(struct ppp_options *to, uint8_t type, uint16_t value)
{
    uint8_t bytes[2];

    put16(bytes, value);
    ppp_put(to, type, bytes, sizeof(bytes));
}

void ppp_put32(struct ppp_options *to, uint8_t type, uint32_t value)
{
    uint8_t bytes[4];

    put32(bytes, value);
    ppp_put(to, type, bytes, sizeof(bytes));
}

void ppp_put_whole(struct ppp_options *to, const struct ppp_option *o)
{
    ppp_put(to, o->type, o->value.at, o->value.n);
}

uint32_t ppp_value16(const struct ppp_option *o)
{
    return o->value.n == 2 ? get16(o->value.at) : UINT32_MAX;
}

uint64_t ppp_value32(const struct ppp_option *o)
{
    return o->value.n == 4 ? get32(o->value.at) : UINT64_MAX;
}

/* --- authentication --- */

/* Take bytes off that stand behind a byte with their number. */
static bool take_counted(struct ppp_bytes *from, struct ppp_bytes *taken)
{
    if (from->n < 1 || from->at[0] > from->n - 1)
        return false;
    *taken = (struct ppp_bytes){from->at + 1, from->at[0]};
    from->n -= 1 + taken->n;
    from->at += 1 + taken->n;
    return true;
}

bool ppp_read_pap(const struct ppp_packet *p, struct ppp_bytes *name, struct ppp_bytes *password)
{
    struct ppp_bytes rest = p->data;

    return take_counted(&rest, name) && take_counted(&rest, password);
}

bool ppp_read_chap(const struct ppp_packet *p, const uint8_t **value, struct ppp_bytes *name)
{
    struct ppp_bytes rest = p->data, digest;

    if (!take_counted(&rest, &digest) || digest.n != PPP_CHAP_DIGEST)
        return false;
    *value = digest.at;
    *name = rest;
    return true;
}
