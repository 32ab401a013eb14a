/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of DPDK that most sources include. Parsing them takes longer than compiling what follows,
 * so a build with -Db_pch=true does it once for each library. A source includes what it uses
 * nevertheless: without that option nothing stands in front of it. */
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
