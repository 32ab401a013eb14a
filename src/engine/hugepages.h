/* SPDX-License-Identifier: BSD-3-Clause */
/* Huge pages of this machine: how many are free, and those that lie in files of a hugetlbfs
 * (memory = "shared"), which outlive the process that has made them and hold memory until they are
 * removed.
 */
#ifndef ENGINE_HUGEPAGES_H
#define ENGINE_HUGEPAGES_H

#include <stdint.h>

#define HUGEPAGES_FOLDERS 8

/** Folders of hugetlbfs. */
struct hugepages_folders {
    unsigned n;
    struct hugepages_folder {
        char path[512];
        uint64_t page; /* bytes of its pages */
    } folder[HUGEPAGES_FOLDERS];
};

/** Huge pages of one size, of which there may be several in a kernel. */
struct hugepages_count {
    uint64_t reserved, free; /* pages */
};

/** Bytes of free huge pages of all sizes. */
uint64_t hugepages_free_bytes(void);

/** Pages of a size (bytes); none where the kernel has no such size. */
struct hugepages_count hugepages_count(uint64_t page);

/** The folders that EAL puts files into, of each page size the first that is mounted; with
 * huge_dir (EAL's --huge-dir, NULL: not given) that folder alone, if it is in a hugetlbfs. */
void hugepages_find(struct hugepages_folders *out, const char *huge_dir);

/** Remove the files of this process, which have EAL's --file-prefix, from those folders. After
 * rte_eal_cleanup(). */
void hugepages_remove(const struct hugepages_folders *in, const char *prefix);

/** Remove those of vbngs that were killed, from these folders and from every hugetlbfs: their
 * process is not there, and nobody (dpdk-dumpcap, a vbng of another container) has them open. */
void hugepages_sweep(const struct hugepages_folders *in);

#endif
