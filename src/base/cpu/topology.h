/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPUs of a machine, this one or one that is only described. */
#ifndef BASE_CPU_TOPOLOGY_H
#define BASE_CPU_TOPOLOGY_H

#include <stdint.h>

#define TOPO_MAX_CPUS 1024
#define SYSFS_CPUS    "/sys/devices/system/cpu"

#define TOPO_NOT_GIVEN UINT16_MAX

struct topo_cpu {
    uint16_t id;     /* logical CPU */
    uint16_t socket; /* physical package */
    uint16_t core;   /* index of the physical core within its socket, dense from 0 */
    uint16_t thread; /* 0: first hardware thread of its core, 1: its SMT sibling, ... */
    /* of CPUs that this process was given: index of the physical core among those of them, and of
     * the thread among its core's; else TOPO_NOT_GIVEN */
    uint16_t given_core, given_thread;
};

struct topology {
    unsigned n_cpus;
    unsigned n_sockets;
    struct topo_cpu cpu[TOPO_MAX_CPUS]; /* by ascending id */
};

/** Read this machine from sysfs (root is "/sys/devices/system/cpu", or a copy for a test). All CPUs
 * count as given. Returns 0 or -errno. */
int topo_read(struct topology *t, const char *root);

/** Only the CPUs of a set (a byte for each, by logical number) are given to this process. */
void topo_give(struct topology *t, const uint8_t set[TOPO_MAX_CPUS]);

/** The set of CPUs on which the kernel lets this process run (sched_setaffinity(2), cpuset(7)).
 * Returns 0 or -errno. */
int topo_affinity(uint8_t set[TOPO_MAX_CPUS]);

/**
 * Describe a machine: "2x10x2" is 2 sockets of 10 cores of 2 threads. CPUs are numbered as Linux
 * does on x86 servers: the first threads of all cores, socket by socket, then the siblings. All
 * count as given. Returns 0 or -EINVAL.
 */
int topo_parse(struct topology *t, const char *s);

/** The CPU with a logical number, or NULL. */
const struct topo_cpu *topo_cpu(const struct topology *t, unsigned id);

#endif
