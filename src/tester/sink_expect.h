/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of the task sink: what an arriving frame should look like, by a packet template whose
 * variable "user" is taken from the packet's stamp.
 *
 * Compared are, by kind:
 *   form        EtherTypes, TPIDs and protocols of PPP, and that the stamp stands right behind the
 *               headers: where this is wrong nothing else is compared; it counts as tags where a
 *               type or TPID is wrong, as other where only the length of the headers is
 *   subscriber  addresses (IPv4, MAC) that vary with user; user within its range
 *   tags        VLAN ids
 *   key         GRE keys, and sessions of PPPoE
 *   dscp        of all IPv4 headers
 *   other       the other addresses of IPv4, protocol, label and bottom of stack, flags and type of
 *               GRE, UDP ports
 * Not compared is what may change on the way: TTL, checksums, lengths, IP id, fragment and ECN; EXP
 * and TTL of MPLS; PCP and DEI; MAC addresses that do not vary with user; payload; and any field
 * that varies with another variable.
 */
#ifndef TESTER_SINK_EXPECT_H
#define TESTER_SINK_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "packet/stamp.h"
#include "template/template.h"
#include "tester/sink_flow.h"

#define EXPECT_WORDS  ((STAMP_LAST + 7) / 8)
#define EXPECT_PIECES (2 * TEMPLATE_MAX_FIELDS)

/** One of the words that a field lies in: word ^= (base + (user >> shift & mask)) << up >> down, in
 * big-endian order. */
struct expect_piece {
    uint8_t word, shift, up, down;
    uint32_t mask, base;
};

struct expect {
    uint16_t header_len, n_words, n_pieces;
    bool by_user;         /* a field varies with it: packets without a user cannot be compared */
    uint32_t first, last; /* range of user */
    /* words of the headers as they stand in memory: what does not vary, and which bits count */
    uint64_t bytes[EXPECT_WORDS], mask[EXPECT_WORDS];
    struct expect_piece piece[EXPECT_PIECES];
    uint64_t form[EXPECT_WORDS], kind[N_WRONG][EXPECT_WORDS]; /* parts of mask */
};

/** Refuse a template that nothing can be compared with; loc: the key that names the template. */
void expect_check(const struct pkt_template *t, struct loc loc, struct diags *d);

/** Zeroed before; the template has passed expect_check(). */
void expect_init(struct expect *e, const struct pkt_template *t);

/** Tell which kinds are wrong, as bits 1 << enum wrong; diff: bits of the headers that differ. */
unsigned expect_explain(const struct expect *e, const uint64_t *diff, uint32_t stamp_at);

/** Compare a frame whose stamp was found at stamp_at. Returns bits 1 << enum wrong. */
static inline unsigned expect_compare(const struct expect *e, const uint8_t *frame,
                                      uint32_t stamp_at, uint32_t user)
{
    uint64_t diff[EXPECT_WORDS], any = 0;
    unsigned n = e->n_words, whole = (stamp_at + STAMP_LEN) / 8;

    if (unlikely(whole < n))
        n = whole;
    for (unsigned i = 0; i < n; i++)
        diff[i] = load64(frame + 8 * i) ^ e->bytes[i];
    for (unsigned i = n; i < e->n_words; i++)
        diff[i] = 0;
    for (unsigned i = 0; i < e->n_pieces; i++) {
        const struct expect_piece *p = &e->piece[i];
        uint64_t value = p->base + (user >> p->shift & p->mask);

        diff[p->word] ^= net64(value << p->up >> p->down);
    }
    for (unsigned i = 0; i < e->n_words; i++)
        any |= diff[i] & e->mask[i];
    if (likely(any == 0 && stamp_at == e->header_len && user >= e->first && user <= e->last))
        return 0;
    if (user < e->first || user > e->last)
        return 1u << WRONG_SUBSCRIBER;
    return expect_explain(e, diff, stamp_at);
}

#endif
