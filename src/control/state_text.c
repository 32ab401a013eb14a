/* SPDX-License-Identifier: BSD-3-Clause */
/* What is kept, as text. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <jansson.h>

#include "base/units.h"
#include "control/live_changes.h"
#include "control/state_impl.h"
#include "tasks/arp.h"

struct task *state_arp(const struct control *c)
{
    for (unsigned i = 0; i < c->e->plan->n_instances; i++)
        if (arp_is(c->e->tasks[i]))
            return c->e->tasks[i];
    return NULL;
}

uint64_t state_sum(const char *text, size_t len)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < len; i++)
        sum = (sum ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* Returns the lines written. */
static unsigned write_changes(const struct control *c, FILE *to)
{
    json_t *all = live_changes(c), *request;
    unsigned n = 0;
    size_t i;

    json_array_foreach(all, i, request)
    {
        json_dumpf(request, to, JSON_COMPACT);
        fputc('\n', to);
        n++;
    }
    json_decref(all);
    return n;
}

static unsigned write_cpes(const struct control *c, const struct task *arp, FILE *to)
{
    const struct cfg_model *m = control_model(c);
    struct arp_learned l;
    char mac[24], ip[24];
    unsigned n = 0;

    for (uint32_t id = 1; id <= m->n_subscribers; id++) {
        const struct cfg_subscriber *s = &m->subscribers[id - 1];

        if (!live_has(m, id) || !arp_of_subscriber(arp, id, &l))
            continue;
        fprintf(to, STATE_CPE, m->ports[s->port].name, s->svlan, s->cvlan,
                format_mac(l.mac, mac, sizeof(mac)), format_ipv4(l.address, ip, sizeof(ip)), l.age);
        n++;
    }
    return n;
}

static unsigned write_nexthops(const struct control *c, const struct task *arp, FILE *to)
{
    struct arp_learned l;
    char mac[24], ip[24];
    unsigned n = 0;
    uint8_t port;

    for (uint32_t i = 0; i < arp_n_neighbours(arp); i++) {
        if (!arp_of_neighbour(arp, i, &port, &l))
            continue;
        fprintf(to, STATE_NEXTHOP, control_model(c)->ports[port].name,
                format_mac(l.mac, mac, sizeof(mac)), format_ipv4(l.address, ip, sizeof(ip)), l.age);
        n++;
    }
    return n;
}

char *state_text(const struct control *c, size_t *len)
{
    const struct task *arp = state_arp(c);
    char *text = NULL;
    FILE *to = open_memstream(&text, len);
    unsigned lines = 1;

    if (to == NULL)
        return NULL;
    fprintf(to, "{\"vbng_state\":%d,\"name\":\"%s\",\"saved\":%lld}\n", STATE_FORMAT,
            control_model(c)->name, (long long)time(NULL));
    lines += write_changes(c, to);
    if (arp != NULL)
        lines += write_cpes(c, arp, to) + write_nexthops(c, arp, to);
    fflush(to);
    fprintf(to, STATE_END, lines, (unsigned long long)state_sum(text, *len));
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}
