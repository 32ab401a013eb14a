/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Huge pages of this machine: how many are free, and the files in which EAL puts them on a
 * hugetlbfs (memory = "shared"). Such a file outlives its process, and holds memory until it is
 * removed.
 */
#ifndef BASE_HUGEPAGES_H
#define BASE_HUGEPAGES_H

#include <stdint.h>

#define HUGEPAGES_FOLDERS 8

/** Mounted folders of hugetlbfs. */
struct hugepages_folders {
    unsigned n;
    struct hugepages_folder {
        char path[512];
        uint64_t page; /* bytes of its pages */
    } folder[HUGEPAGES_FOLDERS];
};

/** Huge pages of one size; a kernel may have several sizes. */
struct hugepages_count {
    uint64_t reserved, free; /* pages */
};

/** Bytes of free huge pages of all sizes. */
uint64_t hugepages_free_bytes(void);

/** Count the huge pages of a size in bytes; 0 where the kernel has no such size. */
struct hugepages_count hugepages_count(uint64_t page);

/** Find the folders into which EAL puts files: of each page size the first one mounted. With
 * huge_dir (EAL's --huge-dir; NULL: not given), that folder alone, if it is in a hugetlbfs. */
void hugepages_find(struct hugepages_folders *out, const char *huge_dir);

/** Remove the files of this process from the folders. prefix: EAL's --file-prefix. After
 * rte_eal_cleanup(). */
void hugepages_remove(const struct hugepages_folders *in, const char *prefix);

/** Remove the files of processes that were killed, from the folders and from every hugetlbfs: files
 * named by the prefix and the number of a process that does not exist, and that no other process
 * (dpdk-dumpcap, a vbng of another container) has open. */
void hugepages_sweep(const struct hugepages_folders *in, const char *prefix);

#endif
