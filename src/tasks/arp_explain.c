/* SPDX-License-Identifier: BSD-3-Clause */
/* What the slow path would do with a packet: done on a copy of its state that learns nothing and
 * remembers no question. Answers and questions leave by the outputs of who looks. */
#include "base/units.h"
#include "tasks/arp_impl.h"

typedef uint64_t __attribute__((may_alias)) word;

static_assert(sizeof(struct arp) % sizeof(word) == 0, "copied by words");

/* Its core writes it meanwhile: word by word, so that each is of one moment. */
static void copy_state(struct arp *to, const struct arp *from)
{
    const word *in = (const word *)(const void *)from;
    word *out = (word *)(void *)to;

    for (size_t i = 0; i < sizeof(*to) / sizeof(word); i++)
        out[i] = __atomic_load_n(&in[i], __ATOMIC_RELAXED);
}

void arp_note_learned(const struct arp *a, const uint8_t *mac, bool known)
{
    char text[32];

    format_mac(mac, text, sizeof(text));
    fprintf(a->notes, known ? "hears that %s is still there\n" : "would learn the MAC %s\n", text);
}

void arp_explain(struct task *t, struct rte_mbuf *m, const struct task_explain *x)
{
    struct arp *state = t->state, copy;

    copy_state(&copy, state);
    copy.pool = x->pool;
    copy.notes = x->notes;
    t->state = &copy;
    t->handle(t, &m, 1);
    task_flush(t);
    t->state = state;
}
