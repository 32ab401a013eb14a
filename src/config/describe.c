/* SPDX-License-Identifier: BSD-3-Clause */
/* From the plan to what an orchestrator has to know. */
#include "config/describe_build.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE   64u
#define PAGE_2M      (2ull << 20)
#define PAGE_1G      (1ull << 30)
#define PAGES_1G_MAX 4 /* entries for them in the DTLB of the paper's machine */
#define ORDINARY     (256ull << 20)
#define PREAMBLE_GAP 20u /* bytes on the wire beside a frame: preamble 8, gap 12 */
#define ACCESS_FRAME 64u
#define CORE_FRAME   46u /* Ethernet 14, IPv4 20, UDP 8, FCS 4 */
#define GRE_HEADERS  28u /* outer IPv4 20, GRE with key 8 */
#define MPLS_HEADER  4u
#define LINES_FRAME  2u /* each line of a frame: written and read by a NIC */
#define LINES_DESC   1u /* two descriptors of 16 bytes, written and read */
#define LINES_MBUF   4u /* two, read and written back */
#define LINES_TABLES 2u /* subscriber: index and record */
#define LINES_SCHEDULE                                                                             \
    16u /* three of the pipe and one of the queue, read and written, at both ends */

void describe_note(struct description *d, const char *fmt, ...)
{
    va_list args;

    if (d->n_notes == DESCRIBE_MAX_NOTES)
        return;
    va_start(args, fmt);
    vsnprintf(d->note[d->n_notes++], DESCRIBE_NOTE, fmt, args);
    va_end(args);
}

static enum port_kind kind_of(const struct cfg_port *port)
{
    if (port_is_wire(port))
        return KIND_WIRE;
    if (plan_port_is_pci(port))
        return KIND_PCI;
    if (strncmp(port->device, "net_vhost", 9) == 0 ||
        strncmp(port->device, "net_virtio_user", 15) == 0 ||
        strncmp(port->device, "virtio_user", 11) == 0)
        return KIND_VHOST;
    return KIND_OTHER;
}

/* The smallest frame that a subscriber's of 64 bytes becomes on its way to the core. */
static unsigned core_frame(const struct cfg_nexthop *hop)
{
    unsigned size =
        CORE_FRAME + (hop->has_gre ? GRE_HEADERS : 0) + (hop->has_mpls ? MPLS_HEADER : 0);

    return size > ACCESS_FRAME ? size : ACCESS_FRAME;
}

static void find_sides(struct description *d)
{
    const struct cfg_model *m = d->p->cfg;

    for (unsigned i = 0; i < m->n_ports; i++)
        d->port[i].min_frame = ACCESS_FRAME;
    for (uint32_t i = 0; i < m->n_nexthops; i++) {
        struct desc_port *port = &d->port[m->nexthops[i].port];
        unsigned frame = core_frame(&m->nexthops[i]);

        if (port->side != SIDE_CORE || frame < port->min_frame)
            port->min_frame = frame;
        port->side = SIDE_CORE;
    }
    for (uint32_t i = 0; i < m->n_subscribers; i++) {
        d->port[m->subscribers[i].port].side = SIDE_ACCESS;
        d->port[m->subscribers[i].port].min_frame = ACCESS_FRAME;
    }
    for (unsigned i = 0; i < m->n_ports; i++)
        d->port[i].max_pps = m->ports[i].line_rate / 8 / (d->port[i].min_frame + PREAMBLE_GAP);
}

static void look_at_instance(struct description *d, const struct plan_instance *inst)
{
    const struct cfg_task *task = &d->p->cfg->tasks[inst->task];
    struct desc_core *core = &d->core[inst->core];

    core->receives |= inst->n_rx > 0;
    core->schedules |= task_shapes(task) != CFG_NONE;
    core->generates |= task->schema->kind == TASK_SOURCE;
    for (uint16_t r = 0; r < inst->n_rx; r++)
        d->port[inst->rx[r].port].cores[inst->core] = true;
    for (unsigned o = 0; o < TASK_MAX_OUTPUTS; o++) {
        for (uint16_t k = 0; k < inst->output[o].n_dests; k++) {
            const struct plan_dest *dest = &inst->output[o].dest[k];

            if (dest->kind == DEST_PORT)
                d->port[dest->index].cores[inst->core] = true;
            else if (dest->kind == DEST_RING)
                core->rings[d->p->instances[d->p->rings[dest->index].consumer].core] = true;
        }
    }
}

static void count_cpus(struct description *d)
{
    const struct plan *p = d->p;

    d->threads = 1;
    for (unsigned i = 0; i < p->cfg->topology.n_cpus; i++)
        if (p->cfg->topology.cpu[i].thread >= d->threads)
            d->threads = p->cfg->topology.cpu[i].thread + 1u;
    for (unsigned i = 0; i < p->n_cores; i++) {
        const struct topo_cpu *cpu = topo_cpu(&p->cfg->topology, p->cores[i].cpu);
        bool first = true;

        for (unsigned k = 0; k < i && cpu != NULL; k++) {
            const struct topo_cpu *other = topo_cpu(&p->cfg->topology, p->cores[k].cpu);

            first &= other == NULL || other->socket != cpu->socket || other->core != cpu->core;
        }
        d->physical_cores += first;
    }
    d->vcpus = p->n_cores + 1;
    d->whole_cpus = (d->physical_cores + 1) * d->threads;
}

/* Pages of 1 GiB where they are few enough for the DTLB and the memory is worth one of them. */
static void size_memory(struct description *d)
{
    const struct plan_memory *mem = &d->p->memory;

    d->hugepages = strcmp(d->p->cfg->memory, "no-huge") != 0;
    d->memory = plan_dpdk_memory(d->p);
    d->ordinary = ORDINARY;
    if (!d->hugepages) {
        d->ordinary += d->memory;
        return;
    }
    d->page_size = mem->total >= PAGE_1G && mem->core_pages_1g <= PAGES_1G_MAX ? PAGE_1G : PAGE_2M;
    d->pages = (d->memory + d->page_size - 1) / d->page_size;
}

/* Packets that pass the gateway at most: each of one side's becomes one of the other's. */
static void count_packets(struct description *d)
{
    uint64_t access = 0, core = 0, received = 0;
    unsigned frame = 0, lines = LINES_DESC * 2 + LINES_MBUF;
    bool scheduled = false;

    for (unsigned i = 0; i < d->p->cfg->n_ports; i++) {
        const struct desc_port *port = &d->port[i];

        access += port->side == SIDE_ACCESS ? port->max_pps : 0;
        core += port->side == SIDE_CORE ? port->max_pps : 0;
        received += d->p->rx_queues[i] > 0 ? port->max_pps : 0;
        if (port->min_frame > frame)
            frame = port->min_frame;
    }
    if (access > 0 && core > 0)
        d->max_pps = 2 * (access < core ? access : core);
    else
        d->max_pps = access > 0 ? access : core > 0 ? core : received;
    for (unsigned i = 0; i < d->p->n_cores; i++)
        scheduled |= d->core[i].schedules;
    lines += LINES_FRAME * ((frame + CACHE_LINE - 1) / CACHE_LINE);
    lines += d->p->cfg->n_subscribers > 0 ? LINES_TABLES : 0;
    lines += scheduled ? LINES_SCHEDULE : 0;
    d->packet_bytes = lines * CACHE_LINE;
}

bool port_on_socket(const struct description *d, unsigned port, unsigned socket)
{
    for (unsigned i = 0; i < d->p->n_cores; i++)
        if (d->port[port].cores[i] && d->p->cores[i].socket == socket)
            return true;
    return false;
}

static void check_sockets(struct description *d)
{
    bool external = false;

    for (unsigned i = 0; i < d->p->cfg->n_ports; i++) {
        unsigned sockets = 0;

        for (unsigned s = 0; s < d->p->cfg->topology.n_sockets; s++)
            sockets += port_on_socket(d, i, s);
        external |= d->port[i].kind != KIND_WIRE;
        if (d->port[i].kind != KIND_WIRE && sockets > 1)
            describe_note(
                d,
                "interface %s is used by cores of %u sockets: keep all that use it on the "
                "socket of its NIC",
                d->p->cfg->ports[i].name, sockets);
    }
    if (!external)
        describe_note(d, "all ports are wires within the process: it needs no network");
    if (!d->hugepages)
        describe_note(d, "memory = \"no-huge\": for function; give it huge pages for figures");
}

struct description *describe_make(const struct plan *p)
{
    struct description *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return NULL;
    d->p = p;
    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        d->port[i].kind = kind_of(&p->cfg->ports[i]);
    find_sides(d);
    for (unsigned i = 0; i < p->n_instances; i++)
        look_at_instance(d, &p->instances[i]);
    count_cpus(d);
    size_memory(d);
    count_packets(d);
    describe_cards(d);
    check_sockets(d);
    describe_siblings(d);
    return d;
}

void describe_free(struct description *d)
{
    free(d);
}
