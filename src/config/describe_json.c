/* SPDX-License-Identifier: BSD-3-Clause */
/* The description as JSON, whose keys do not change (doc/describe.md). */
#include "config/describe_build.h"

#include <errno.h>

#include "config/json_write.h"

/* Numbers of the cores b for which say(d, a, b) holds. */
static void core_list(struct json *j, const char *key, const struct description *d, unsigned a,
                      bool (*say)(const struct description *d, unsigned a, unsigned b))
{
    json_begin(j, key, '[');
    for (unsigned b = 0; b < d->p->n_cores; b++)
        if (say(d, a, b))
            json_add_number(j, NULL, b + 1);
    json_end(j, ']');
}

static void core(struct json *j, const struct description *d, unsigned i)
{
    const struct plan_core *c = &d->p->cores[i];
    const struct topo_cpu *cpu = topo_cpu(&d->p->cfg->topology, c->cpu);
    char name[64];

    json_begin(j, NULL, '{');
    json_add_number(j, "core", i + 1);
    json_add_number(j, "cpu", c->cpu);
    json_add_number(j, "socket", c->socket);
    if (cpu != NULL) {
        json_add_number(j, "physical_core", cpu->core);
        json_add_number(j, "thread", cpu->thread);
    }
    json_begin(j, "tasks", '[');
    for (uint16_t k = 0; k < c->n_instances; k++)
        json_add_string(j, NULL, instance_name(d->p, c->instances[k], name, sizeof(name)));
    json_end(j, ']');
    json_add_bool(j, "own_physical_core", core_wants_alone(d, i));
    core_list(j, "may_share_with", d, i, cores_may_share);
    core_list(j, "last_resort", d, i, core_last_resort);
    json_end(j, '}');
}

static void cpus(struct json *j, const struct description *d)
{
    json_begin(j, "cpus", '{');
    json_add_number(j, "vcpus", d->vcpus);
    json_add_number(j, "housekeeping", 1);
    json_add_number(j, "physical_cores", d->physical_cores);
    json_add_number(j, "threads_per_core", d->threads);
    json_add_number(j, "vcpus_of_whole_cores", d->whole_cpus);
    json_begin(j, "cores", '[');
    for (unsigned i = 0; i < d->p->n_cores; i++)
        core(j, d, i);
    json_end(j, ']');
    json_begin(j, "isolation", '{');
    json_add_bool(j, "dedicated", true);
    json_add_bool(j, "no_scheduler_tick", true);
    json_add_bool(j, "no_interrupts", true);
    json_add_bool(j, "fixed_frequency", true);
    json_end(j, '}');
    json_end(j, '}');
}

static void memory(struct json *j, const struct description *d)
{
    json_begin(j, "memory", '{');
    json_add_number(j, "dpdk_bytes", d->memory);
    if (d->hugepages) {
        json_begin(j, "hugepages", '{');
        json_add_number(j, "page_bytes", d->page_size);
        json_add_number(j, "pages", d->pages);
        json_end(j, '}');
    } else {
        json_add_null(j, "hugepages");
    }
    json_add_number(j, "ordinary_bytes", d->ordinary);
    json_begin(j, "bandwidth", '{');
    json_add_number(j, "packets_per_second", d->max_pps);
    json_add_number(j, "bytes_per_packet_at_most", d->packet_bytes);
    json_add_number(j, "bytes_per_second_at_most", d->max_pps * d->packet_bytes);
    json_end(j, '}');
    json_end(j, '}');
}

/* Cores that use a port, and their sockets. */
static void users(struct json *j, const struct description *d, unsigned port)
{
    json_begin(j, "cores", '[');
    for (unsigned i = 0; i < d->p->n_cores; i++)
        if (d->port[port].cores[i])
            json_add_number(j, NULL, i + 1);
    json_end(j, ']');
    json_begin(j, "sockets", '[');
    for (unsigned s = 0; s < d->p->cfg->topology.n_sockets; s++)
        if (port_on_socket(d, port, s))
            json_add_number(j, NULL, s);
    json_end(j, ']');
}

static void interfaces(struct json *j, const struct description *d)
{
    json_begin(j, "interfaces", '[');
    for (unsigned i = 0; i < d->p->cfg->n_ports; i++) {
        const struct cfg_port *cfg = &d->p->cfg->ports[i];
        const struct desc_port *port = &d->port[i];

        json_begin(j, NULL, '{');
        json_add_string(j, "name", cfg->name);
        json_add_string(j, "kind", port_kind_name(port->kind));
        json_add_string(j, "device", cfg->device);
        json_add_string(j, "side", port_side_name(port->side));
        json_add_number(j, "bits_per_second", cfg->line_rate);
        json_add_number(j, "smallest_frame", port->min_frame);
        json_add_number(j, "packets_per_second", port->max_pps);
        json_add_number(j, "mtu", cfg->mtu);
        json_add_number(j, "rx_queues", d->p->rx_queues[i]);
        json_add_number(j, "tx_queues", d->p->tx_queues[i]);
        users(j, d, i);
        json_end(j, '}');
    }
    json_end(j, ']');
}

static void cards(struct json *j, const struct description *d)
{
    char key[32];

    json_begin(j, "pcie_cards", '[');
    for (unsigned i = 0; i < d->n_cards; i++) {
        json_begin(j, NULL, '{');
        json_begin(j, "interfaces", '[');
        for (unsigned k = 0; k < d->p->cfg->n_ports; k++)
            if (d->port[k].kind == KIND_PCI && d->port[k].card == i)
                json_add_string(j, NULL, d->p->cfg->ports[k].name);
        json_end(j, ']');
        json_add_number(j, "bits_per_second", d->card[i].bits_per_s);
        json_begin(j, "lanes", '{');
        for (unsigned g = 0; g < PCIE_GENS; g++) {
            snprintf(key, sizeof(key), "gen%u", g + PCIE_FIRST_GEN);
            if (d->card[i].lanes[g] > 0)
                json_add_number(j, key, d->card[i].lanes[g]);
            else
                json_add_null(j, key);
        }
        json_end(j, '}');
        json_end(j, '}');
    }
    json_end(j, ']');
}

/* All that touches an interface belongs on its socket, so all cores on one is the rule. */
static void placement(struct json *j, const struct description *d)
{
    bool one = true;

    for (unsigned i = 1; i < d->p->n_cores; i++)
        one &= d->p->cores[i].socket == d->p->cores[0].socket;
    json_begin(j, "placement", '{');
    json_add_bool(j, "cores_and_nics_on_one_socket", d->n_cards > 0);
    json_add_bool(j, "layout_uses_one_socket", one);
    json_end(j, '}');
}

int describe_json(const struct plan *p, const struct describe_options *o, FILE *to)
{
    struct description *d = describe_make(p);
    struct json j = {.to = to, .depth = 1};

    (void)o;
    if (d == NULL)
        return -ENOMEM;
    fputc('{', to);
    json_add_string(&j, "name", p->cfg->name);
    json_add_string(&j, "configuration", p->cfg->path);
    cpus(&j, d);
    placement(&j, d);
    memory(&j, d);
    interfaces(&j, d);
    cards(&j, d);
    json_begin(&j, "notes", '[');
    for (unsigned i = 0; i < d->n_notes; i++)
        json_add_string(&j, NULL, d->note[i]);
    json_end(&j, ']');
    fputs("\n}\n", to);
    describe_free(d);
    return 0;
}
