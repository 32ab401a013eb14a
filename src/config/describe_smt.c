/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which cores may be SMT siblings. From section III.C of "the limits of abstraction" (Fig. 8 to
 * 10): every layout with siblings was slower than the same one on cores of their own, most of all
 * where the core that receives shared with the scheduler (8.65 Mpps); the scheduler with the core
 * that it sends to was better (9.50), separate cores did line rate (14.88). So whoever sets the
 * pace, because nobody else can do its part (reception, scheduling, generation), stays alone; what
 * is fed by rings may share, and that raises the throughput of a physical core.
 */
#include "config/describe_build.h"

bool core_wants_alone(const struct description *d, unsigned core)
{
    const struct desc_core *c = &d->core[core];

    return c->receives || c->schedules || c->generates;
}

bool cores_may_share(const struct description *d, unsigned a, unsigned b)
{
    return a != b && d->p->cores[a].socket == d->p->cores[b].socket && !core_wants_alone(d, a) &&
           !core_wants_alone(d, b);
}

bool core_last_resort(const struct description *d, unsigned a, unsigned b)
{
    return d->core[a].schedules && d->core[a].rings[b] && !core_wants_alone(d, b) &&
           d->p->cores[a].socket == d->p->cores[b].socket;
}

static bool siblings(const struct description *d, unsigned a, unsigned b)
{
    const struct topology *t = &d->p->cfg->topology;
    const struct topo_cpu *x = topo_cpu(t, d->p->cores[a].cpu);
    const struct topo_cpu *y = topo_cpu(t, d->p->cores[b].cpu);

    return x != NULL && y != NULL && x->socket == y->socket && x->core == y->core;
}

static const char *why_alone(const struct desc_core *c)
{
    return c->schedules ? "schedules" : c->receives ? "receives" : "generates";
}

/* What of the layout goes against the rule. */
void describe_siblings(struct description *d)
{
    for (unsigned a = 0; a < d->p->n_cores; a++) {
        for (unsigned b = a + 1; b < d->p->n_cores; b++) {
            unsigned alone = core_wants_alone(d, a) ? a : b;

            if (siblings(d, a, b) && core_wants_alone(d, alone))
                describe_note(d,
                              "cores %u and %u are SMT siblings, but core %u %s: give it a "
                              "physical core alone",
                              a + 1, b + 1, alone + 1, why_alone(&d->core[alone]));
        }
    }
}
