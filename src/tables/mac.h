/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A neighbour's MAC at the start of a record. Data-path cores read the record while the arp task,
 * its only writer, changes the MAC: by one aligned 8-byte store, so that a reader sees the old MAC
 * or the new one. Bytes 6 and 7 of that word begin the gateway's own MAC and stay as they are.
 */
#ifndef TABLES_MAC_H
#define TABLES_MAC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

typedef uint64_t __attribute__((may_alias)) mac_word;

/** Read the MAC. Returns false where it is zero: it has been forgotten meanwhile. */
static inline bool record_mac(const uint8_t *record, uint8_t *mac)
{
    mac_word word = __atomic_load_n((const mac_word *)(const void *)record, __ATOMIC_ACQUIRE);

    memcpy(mac, &word, 6);
    return (word & RTE_BE64(UINT64_C(0xffffffffffff0000))) != 0;
}

/** Write a MAC (NULL: zeros) and the flag that says it is known: a reader that sees the flag set
 * finds a MAC. */
static inline void record_set_mac(uint8_t *record, uint8_t *known, const uint8_t *mac)
{
    mac_word *word = (mac_word *)(void *)record;
    uint64_t new;
    uint8_t bytes[8] = {0};

    if (mac != NULL)
        memcpy(bytes, mac, 6);
    memcpy(bytes + 6, record + 6, 2);
    memcpy(&new, bytes, sizeof(new));
    if (mac == NULL)
        __atomic_store_n(known, 0, __ATOMIC_RELAXED);
    __atomic_store_n(word, new, __ATOMIC_RELEASE);
    if (mac != NULL)
        __atomic_store_n(known, 1, __ATOMIC_RELEASE);
}

#endif
