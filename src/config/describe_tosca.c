/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The description as a fragment of a VNFD: one Vdu.Compute and a VduCp for each interface, by ETSI
 * GS NFV-SOL 001 v4.4.1 (TOSCA simple profile in YAML 1.3). Keys inside of maps of strings, which
 * that leaves to the platform, are those of ETSI's registry as ONAP uses them. Strings are quoted
 * as in JSON, which YAML reads alike.
 */
#include "config/describe_build.h"

#include <errno.h>

#include "config/json_write.h"

#define MIB (1ull << 20)

static void line(FILE *to, const char *key, const char *value)
{
    fputs(key, to);
    json_put_string(to, value);
    fputc('\n', to);
}

/* What the vCPUs with a number of their own are for; vCPU 0 does the housekeeping. */
static void pinning(FILE *to, const struct description *d)
{
    char tasks[256], rule[512];

    fputs("              virtual_cpu_pinning:\n"
          "                virtual_cpu_pinning_policy: static\n"
          "                virtual_cpu_pinning_rule:\n",
          to);
    line(to, "                  - ", "vCPU 0: housekeeping, may be shared");
    for (unsigned i = 0; i < d->p->n_cores; i++) {
        snprintf(rule, sizeof(rule), "vCPU %u: dedicated, %s, socket %u: %s", i + 1,
                 core_wants_alone(d, i) ? "physical core alone" : "may have an SMT sibling",
                 d->p->cores[i].socket, core_tasks(d->p, i, tasks, sizeof(tasks)));
        line(to, "                  - ", rule);
    }
}

static void compute(FILE *to, const struct description *d)
{
    fprintf(to,
            "            virtual_cpu:\n"
            "              cpu_architecture: x86\n"
            "              num_virtual_cpu: %u\n"
            "              virtual_cpu_oversubscription_policy: \"none\"\n"
            "              vdu_cpu_requirements:\n"
            "                simultaneousMultiThreading: %s\n",
            d->vcpus, d->threads > 1 ? "\"enabled\"" : "\"disabled\"");
    pinning(to, d);
    fprintf(to,
            "            virtual_memory:\n"
            "              virtual_mem_size: %llu MiB\n"
            "              virtual_mem_oversubscription_policy: \"none\"\n"
            "              numa_enabled: true\n",
            (unsigned long long)((d->ordinary + d->pages * d->page_size + MIB - 1) / MIB));
    if (d->hugepages)
        fprintf(to,
                "              huge_pages_requirements:\n"
                "                - hugepage_size: %llu MiB\n"
                "                  requested_size: %llu MiB\n",
                (unsigned long long)(d->page_size / MIB),
                (unsigned long long)(d->pages * d->page_size / MIB));
}

static void vdu(FILE *to, const struct description *d)
{
    fputs("    vbng:\n"
          "      type: tosca.nodes.nfv.Vdu.Compute\n"
          "      properties:\n",
          to);
    line(to, "        name: ", d->p->cfg->name);
    line(to, "        description: ", "virtual Broadband Network Gateway with hierarchical QoS");
    fputs("        vdu_profile:\n"
          "          min_number_of_instances: 1\n"
          "          max_number_of_instances: 1\n"
          "      capabilities:\n"
          "        virtual_compute:\n"
          "          properties:\n",
          to);
    compute(to, d);
}

static const char *vnic_type(enum port_kind kind)
{
    return kind == KIND_PCI ? "direct" : kind == KIND_VHOST ? "virtio-forwarder" : "normal";
}

static const char *interface_type(enum port_kind kind)
{
    return kind == KIND_PCI ? "SR-IOV" : kind == KIND_VHOST ? "VIRTIO" : "OTHER";
}

/* Access ports carry two tags: trunk_mode. order counts the connection points. */
static void connection_point(FILE *to, const struct description *d, unsigned i, unsigned order)
{
    const struct cfg_port *cfg = &d->p->cfg->ports[i];
    const struct desc_port *port = &d->port[i];

    fputs("    ", to);
    json_put_string(to, cfg->name);
    fprintf(to,
            ":\n"
            "      type: tosca.nodes.nfv.VduCp\n"
            "      properties:\n"
            "        layer_protocols: [ethernet]\n"
            "        description: \"%s side\"\n"
            "        trunk_mode: %s\n"
            "        order: %u\n"
            "        bitrate_requirement: %llu\n"
            "        vnic_type: %s\n"
            "        virtual_network_interface_requirements:\n"
            "          - name: \"dataplane\"\n"
            "            network_interface_requirements:\n"
            "              interfaceType: \"%s\"\n"
            "            nic_io_requirements:\n"
            "              logical_node_requirements:\n"
            "                localNumaAffinity: \"true\"\n"
            "                packetsPerSecond: \"%llu\"\n"
            "      requirements:\n"
            "        - virtual_binding: vbng\n",
            port_side_name(port->side), port->side == SIDE_ACCESS ? "true" : "false", order,
            (unsigned long long)cfg->line_rate, vnic_type(port->kind), interface_type(port->kind),
            (unsigned long long)port->max_pps);
}

int describe_tosca(const struct plan *p, const struct describe_options *o, FILE *to)
{
    struct description *d = describe_make(p);
    unsigned order = 0;

    (void)o;
    if (d == NULL)
        return -ENOMEM;
    fputs("tosca_definitions_version: tosca_simple_yaml_1_3\n", to);
    line(to, "description: ", "what this configuration needs: a fragment of a VNFD");
    fputs("imports:\n"
          "  - etsi_nfv_sol001_vnfd_types.yaml\n",
          to);
    for (unsigned i = 0; i < d->n_notes; i++)
        fprintf(to, "# note: %s\n", d->note[i]);
    fputs("topology_template:\n"
          "  node_templates:\n",
          to);
    vdu(to, d);
    for (unsigned i = 0; i < p->cfg->n_ports; i++)
        if (d->port[i].kind != KIND_WIRE)
            connection_point(to, d, i, order++);
    describe_free(d);
    return 0;
}
