/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's environment for test programs: without huge pages, devices and telemetry, beside other
 * programs like it. */
#ifndef TESTS_COMMON_EAL_H
#define TESTS_COMMON_EAL_H

/**
 * Start it with so many MiB. lcores is what EAL's option --lcores takes; NULL: one lcore, which is
 * the calling thread, on any CPU that the process may use. Returns 0 or -1, with DPDK's words on
 * stderr.
 */
int test_eal_start(unsigned mib, const char *lcores);

/** Stop it and remove its folder. */
void test_eal_stop(void);

#endif
