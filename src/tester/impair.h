/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of the task impair: the line that packets go through. A packet first waits for
 * transmission at the line's rate, and then for the line's delay. Packets arrive in the order of
 * transmission.
 */
#ifndef TESTER_IMPAIR_H
#define TESTER_IMPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

/** What a line is made of; times in TSC cycles. */
struct line_spec {
    uint32_t room;          /* packets that it holds at most, a power of two */
    uint64_t delay, jitter; /* each packet is under way for delay..delay + jitter */
    double packet_cost;     /* time that the line needs for a packet, and for each byte of it ... */
    double byte_cost;       /* ... on the wire; both 0: no limit */
    uint64_t queue;         /* a packet that had to wait longer for its turn is not taken */
    uint64_t seed;
    int socket;
};

struct line_slot {
    struct rte_mbuf *m;
    uint64_t due; /* TSC; or when the one before it arrives, if that is later */
};

/** Written by its core; others read how many packets it holds. */
struct line {
    struct line_slot *slot;
    uint32_t mask, in, out; /* of all packets ever: put in, and taken out */
    uint64_t delay, jitter, queue;
    uint64_t packet_cost, byte_cost; /* 2^-16 cycles */
    uint64_t free;                   /* when all that was put in has been sent */
    uint32_t free_part;              /* 2^-16 cycles more */
    uint64_t random;
};

enum line_answer { LINE_TAKES, LINE_TOO_SLOW, LINE_FULL };

/** Returns 0 or -ENOMEM. */
int line_init(struct line *l, const struct line_spec *spec);
/** Frees what it holds. */
void line_fini(struct line *l);

/** Would it take a packet now? */
enum line_answer line_ask(const struct line *l, uint64_t now);

/** Put in a packet that it takes. */
void line_put(struct line *l, struct rte_mbuf *m, uint64_t now);

/** Take out up to n packets that have arrived. */
uint16_t line_take(struct line *l, struct rte_mbuf **m, uint16_t n, uint64_t now);

static inline uint32_t line_held(const struct line *l)
{
    uint32_t out = __atomic_load_n(&l->out, __ATOMIC_RELAXED);

    return __atomic_load_n(&l->in, __ATOMIC_RELAXED) - out;
}

/** A random number; state is any number at first (splitmix64 by Sebastiano Vigna, public domain).
 */
static inline uint64_t random64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

#endif
