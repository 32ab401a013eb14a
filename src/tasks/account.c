/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account: counts the packets of each subscriber, and the octets of their IP packets, by family: of
 * what is charged for (RFC 2866). It stands where that is settled: behind classify for what a
 * subscriber sends, behind the scheduler for what he is sent. A graph without it pays nothing.
 */
#include "tasks/account.h"

#include <errno.h>

#include <rte_malloc.h>

#include "packet/frame.h"
#include "packet/ipv4.h"
#include "packet/ipv6.h"
#include "packet/pppoe.h"
#include "packet/qinq.h"
#include "tables/tables.h"

enum { OUT_TO };
enum { WAY_UP, WAY_DOWN };
enum { ARG_DIRECTION, N_ARGS };

static const char *const ways[] = {[WAY_UP] = "up", [WAY_DOWN] = "down", NULL};

static const struct task_param params[N_ARGS] = {
    [ARG_DIRECTION] = {.name = "direction",
                       .type = PARAM_ENUM,
                       .required = true,
                       .choices = ways,
                       .help = "what passes: what subscribers send (up), or what they are sent"},
};

struct account {
    struct account_counter *counter; /* by subscriber */
    enum direction direction;
};

static int init(struct task *t, const struct task_env *env)
{
    uint32_t capacity = env->tables->subscribers->capacity;
    struct account *a = t->state;

    a->direction = env->cfg->param[ARG_DIRECTION].u == WAY_UP ? DIRECTION_UP : DIRECTION_DOWN;
    a->counter = rte_zmalloc_socket("account", (capacity + UINT64_C(1)) * ACCOUNT_COUNTER,
                                    RTE_CACHE_LINE_SIZE, env->socket);
    return a->counter != NULL ? 0 : -ENOMEM;
}

static void fini(struct task *t)
{
    const struct account *a = t->state;

    rte_free(a->counter);
}

/* Count the IP packet at a place, of a type of Ethernet. */
static inline void count_ip(struct account_counter *c, const uint8_t *packet, rte_be16_t type)
{
    if (likely(type == RTE_BE16(RTE_ETHER_TYPE_IPV4))) {
        c->packets[FAMILY_IPV4]++;
        c->octets[FAMILY_IPV4] += net16(((const struct rte_ipv4_hdr *)packet)->total_length);
    } else if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) {
        c->packets[FAMILY_IPV6]++;
        c->octets[FAMILY_IPV6] += ipv6_len((const struct ipv6_hdr *)packet);
    }
}

static inline void count(struct account_counter *c, const uint8_t *f)
{
    rte_be16_t type = qinq_type(f);

    if (unlikely(type == RTE_BE16(PPPOE_TYPE)))
        count_ip(c, f + PPPOE_QINQ_LEN, pppoe_type_of(net16(load16(f + PPPOE_QINQ_LEN - 2))));
    else
        count_ip(c, f + QINQ_LEN, type);
}

static void handle(struct task *t, struct rte_mbuf **m, uint16_t n)
{
    const struct account *a = t->state;

    for (uint16_t i = 0; i < n; i++) {
        rte_prefetch0(frame_bytes(m[i]));
        rte_prefetch0(&a->counter[meta_subscriber(m[i])]);
    }
    for (uint16_t i = 0; i < n; i++)
        count(&a->counter[meta_subscriber(m[i])], frame_bytes(m[i]));
    task_emit_burst(t, OUT_TO, m, n);
}

/* --- for control --- */

enum direction account_direction(const struct task *t)
{
    const struct account *a = t->state;

    return a->direction;
}

void account_add(const struct task *t, uint32_t id, struct account_counter *sum)
{
    const struct account *a = t->state;
    const struct account_counter *c = &a->counter[id];

    for (unsigned f = 0; f < N_FAMILIES; f++) {
        sum->packets[f] += __atomic_load_n(&c->packets[f], __ATOMIC_RELAXED);
        sum->octets[f] += __atomic_load_n(&c->octets[f], __ATOMIC_RELAXED);
    }
}

const struct task_type task_account = {
    .schema = {.type = "account",
               .help = "counts octets and packets of each subscriber, for accounting",
               .doc = "doc/control.md",
               .kind = TASK_WORKER,
               .per_subscriber = ACCOUNT_COUNTER,
               .params = params,
               .n_params = N_ARGS,
               .outputs = {[OUT_TO] = {"to", "all packets"}},
               .needs = FACT_SUBSCRIBER | FACT_QINQ_IPV4},
    .state_size = sizeof(struct account),
    .init = init,
    .fini = fini,
    .handle = handle,
};
