/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/*
 * The CPUs of a machine, this one or one that is only described, and the names that a layout uses
 * for them:
 *
 *   "5"                  logical CPU 5, as the kernel numbers it
 *   "3s0"                physical core 3 of socket 0, its first hardware thread; the cores of a
 *                        socket are counted from 0
 *   "3s0h"               the SMT sibling of that thread
 *   "7s0-9s0,7s0h-9s0h"  ranges and lists, each range of one form, in the order written
 */
/* clang-format on */
#ifndef BASE_TOPOLOGY_H
#define BASE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPO_MAX_CPUS 1024
#define SYSFS_CPUS    "/sys/devices/system/cpu"

struct topo_cpu {
    uint16_t id;     /* logical CPU */
    uint16_t socket; /* physical package */
    uint16_t core;   /* index of the physical core within its socket, dense from 0 */
    uint16_t thread; /* 0: first hardware thread of its core, 1: its SMT sibling, ... */
};

struct topology {
    unsigned n_cpus;
    unsigned n_sockets;
    struct topo_cpu cpu[TOPO_MAX_CPUS]; /* by ascending id */
};

/** Read this machine from sysfs (root is "/sys/devices/system/cpu", or a copy for a test). Returns
 * 0 or -errno. */
int topo_read(struct topology *t, const char *root);

/**
 * Describe a machine: "2x10x2" is 2 sockets of 10 cores of 2 threads. CPUs are numbered as Linux
 * does on x86 servers: the first threads of all cores, socket by socket, then the siblings. Returns
 * 0 or -EINVAL.
 */
int topo_parse(struct topology *t, const char *s);

/** The CPU with a logical number, or NULL. */
const struct topo_cpu *topo_cpu(const struct topology *t, unsigned id);

/**
 * Resolve a CPU list to logical CPU numbers, in the order written.
 * Returns the number of CPUs (1..max), or -EINVAL with a message in err that says which part is
 * wrong and what the machine has instead ("3s0h: core 3 of socket 0 has no SMT sibling", "12s0:
 * socket 0 has cores 0-9").
 */
int topo_resolve(const struct topology *t, const char *list, uint16_t *cpus, size_t max, char *err,
                 size_t err_len);

#endif
