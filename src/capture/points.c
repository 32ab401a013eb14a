/* SPDX-License-Identifier: BSD-3-Clause */
/* The points of a capture: what is wanted where, the interfaces of the file, what they have
 * counted. */
#include <stdio.h>
#include <string.h>

#include "capture/capture_impl.h"
#include "config/facts.h"
#include "engine/stats.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

const char *capture_reason(const struct cfg_task *t, unsigned reason)
{
    return reason == TAP_LINK_FULL ? TAP_LINK_FULL_NAME : drop_name(t->schema, reason);
}

struct tap_count capture_count(const struct capture *c, unsigned interface)
{
    struct tap_count sum = {0};

    for (unsigned i = 0; c->taps.rings != NULL && i < c->e->plan->n_cores; i++)
        for (unsigned k = 0; k < TAP_KINDS; k++) {
            const struct tap_count *count = &c->taps.rings[i].count[interface * TAP_KINDS + k];

            sum.matched += READ(count->matched);
            sum.taken += READ(count->taken);
            sum.lost += READ(count->lost);
        }
    return sum;
}

void capture_make_wants(struct capture *c, const struct capture_spec *spec)
{
    struct tap_wants *w = &c->wants;

    w->subscriber = spec->subscriber;
    w->snaplen = spec->snaplen;
    w->every = spec->every;
    w->rx = spec->rx;
    w->tx = spec->tx;
    w->is_his = is_frame_of;
    w->frame_of = &c->frames_of;
    if (spec->subscriber != 0)
        c->frames_of = frames_of_subscriber(&c->tables->subscribers->record[spec->subscriber]);
    for (unsigned i = 0; i < c->e->plan->n_instances; i++) {
        uint16_t task = c->e->plan->instances[i].task;

        w->before[i] = spec->before[task];
        w->after[i] = spec->after[task];
        w->reasons[i] = spec->reasons[task];
    }
    plan_facts(c->e->plan->cfg, w->facts);
}

static unsigned instances_of(const struct plan *p, uint16_t task)
{
    unsigned n = 0;

    for (unsigned i = 0; i < p->n_instances; i++)
        n += p->instances[i].task == task;
    return n;
}

void capture_name_interfaces(struct capture *c)
{
    const struct plan *p = c->e->plan;
    uint32_t next = 0;

    for (unsigned i = 0; i < c->n_interfaces; i++) {
        struct interface *to = &c->interface[i];
        unsigned n = i - p->cfg->n_ports;

        *to = (struct interface){.number = next};
        if (i < p->cfg->n_ports) {
            if (((c->wants.rx | c->wants.tx) >> i & 1) != 0)
                snprintf(to->name, sizeof(to->name), "%s", p->cfg->ports[i].name);
        } else if (c->wants.before[n] || c->wants.after[n] || c->wants.reasons[n] != 0) {
            const struct plan_instance *inst = &p->instances[n];
            const char *name = p->cfg->tasks[inst->task].name;

            if (instances_of(p, inst->task) > 1)
                snprintf(to->name, sizeof(to->name), "%s[%u]", name, inst->worker);
            else
                snprintf(to->name, sizeof(to->name), "%s", name);
        }
        next += to->name[0] != '\0';
    }
}

void capture_write_interfaces(struct capture *c)
{
    const struct plan *p = c->e->plan;

    for (unsigned i = 0; i < c->n_interfaces; i++) {
        char text[128];

        if (c->interface[i].name[0] == '\0')
            continue;
        if (i < p->cfg->n_ports)
            snprintf(text, sizeof(text), "port");
        else
            snprintf(text, sizeof(text), "task of type %s on CPU %u",
                     p->cfg->tasks[p->instances[i - p->cfg->n_ports].task].schema->type,
                     p->cores[p->instances[i - p->cfg->n_ports].core].run_on);
        pcapng_interface(c->file, c->interface[i].name, text, c->spec.snaplen);
    }
}

bool capture_interface(const struct capture *c, unsigned i, struct capture_interface *out)
{
    struct tap_count count;

    if (i >= c->n_interfaces)
        return false;
    count = capture_count(c, i);
    *out = (struct capture_interface){.matched = count.matched,
                                      .taken = count.taken,
                                      .lost = count.lost,
                                      .packets = READ(c->interface[i].packets)};
    memcpy(out->name, c->interface[i].name, sizeof(out->name));
    return true;
}
