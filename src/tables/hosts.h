/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts of a subscriber whose addresses are a prefix: each address has a MAC of its own, as far as
 * it has been learned. A prefix is /24 or longer, so the last number of an address tells it from
 * the others.
 *
 * One writer (the arp task), many readers (data path).
 */
#ifndef TABLES_HOSTS_H
#define TABLES_HOSTS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>

#include "tables/mac.h"

#define HOSTS_MAX 8 /* of each subscriber: their MACs fill one cache line */

/** What the arp task knows of a neighbour beside its MAC. */
struct arp_entry {
    uint32_t learned, asked; /* ticks: of the last packet that it was learned from, of the last
                                request */
    uint32_t addr;           /* subscribers: the address that it was learned from, host order; of a
                                host: its address, 0: the place is free */
    bool refreshed;          /* a request was sent because the entry is old */
    bool in_public;          /* the last request was for anybody: who answers it is believed */
    uint8_t wait;            /* number of its arp_wait, from 1; 0: none */
};

struct hosts {
    /* MAC, last number of the address, 1: a word that is written at once; 0: not known. All that
     * the data path reads. */
    mac_word mac[HOSTS_MAX];
    struct arp_entry entry[HOSTS_MAX]; /* parallel; of the arp task alone */
    struct hosts *next_free;           /* of those that are no subscriber's */
} __rte_cache_aligned;

static_assert(HOSTS_MAX * sizeof(mac_word) == RTE_CACHE_LINE_MIN_SIZE, "one cache line of MACs");

/** Read the MAC of a place. Returns false where it is not known. */
static inline bool hosts_mac(const struct hosts *h, unsigned place, uint8_t *mac)
{
    mac_word word = __atomic_load_n(&h->mac[place], __ATOMIC_RELAXED);

    memcpy(mac, &word, 6);
    return word != 0;
}

/** Find the MAC of an address. Returns false where it is not known. */
static inline bool hosts_find(const struct hosts *h, rte_be32_t addr, uint8_t *mac)
{
    const uint8_t mask[8] = {0, 0, 0, 0, 0, 0, 0xff, 0xff};
    uint8_t key[8] = {[7] = 1};
    mac_word want, of_key;

    memcpy(&key[6], (const uint8_t *)&addr + 3, 1);
    memcpy(&want, key, sizeof(want));
    memcpy(&of_key, mask, sizeof(of_key));
    for (unsigned i = 0; i < HOSTS_MAX; i++)
        if ((__atomic_load_n(&h->mac[i], __ATOMIC_RELAXED) & of_key) == want)
            return hosts_mac(h, i, mac);
    return false;
}

/** Write the MAC (NULL: not known) of the address that a place is for. */
static inline void hosts_set(struct hosts *h, unsigned place, const uint8_t *mac)
{
    uint8_t bytes[8] = {0};
    mac_word word;

    if (mac != NULL) {
        memcpy(bytes, mac, 6);
        bytes[6] = (uint8_t)h->entry[place].addr;
        bytes[7] = 1;
    }
    memcpy(&word, bytes, sizeof(word));
    __atomic_store_n(&h->mac[place], word, __ATOMIC_RELEASE);
}

#endif
