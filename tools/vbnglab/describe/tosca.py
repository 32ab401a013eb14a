# SPDX-License-Identifier: BSD-3-Clause
"""The description as a fragment of a VNFD: one Vdu.Compute and a VduCp for each interface, by ETSI GS NFV-SOL 001 v4.4.1
(TOSCA simple profile in YAML 1.3). Keys inside of maps of strings, which that leaves to the platform, are those of ETSI's
registry as ONAP uses them."""

from .ports import ACCESS, PCI, VHOST, WIRE
from .yaml_text import MIB, huge_bytes, mebibytes, quoted

VNIC_TYPE = {PCI: "direct", VHOST: "virtio-forwarder"}
INTERFACE_TYPE = {PCI: "SR-IOV", VHOST: "VIRTIO"}

HEAD = """\
tosca_definitions_version: tosca_simple_yaml_1_3
description: "what this configuration needs: a fragment of a VNFD"
imports:
  - etsi_nfv_sol001_vnfd_types.yaml
{notes}\
{links}\
  node_templates:
    vbng:
      type: tosca.nodes.nfv.Vdu.Compute
      properties:
        name: {name}
        description: "virtual Broadband Network Gateway with hierarchical QoS"
        vdu_profile:
          min_number_of_instances: 1
          max_number_of_instances: 1
      capabilities:
        virtual_compute:
          properties:
            virtual_cpu:
              cpu_architecture: x86
              num_virtual_cpu: {vcpus}
              virtual_cpu_oversubscription_policy: "none"
              vdu_cpu_requirements:
                simultaneousMultiThreading: "{smt}"
              virtual_cpu_pinning:
                virtual_cpu_pinning_policy: static
                virtual_cpu_pinning_rule:
{pinning}\
            virtual_memory:
              virtual_mem_size: {memory} MiB
              virtual_mem_oversubscription_policy: "none"
              numa_enabled: true
"""
NODE_TYPE = """\
node_types:
  vbng.nodes.VNF:
    derived_from: tosca.nodes.nfv.VNF
    requirements:
{requirements}\
topology_template:
  substitution_mappings:
    node_type: vbng.nodes.VNF
    requirements:
{mappings}"""
REQUIREMENT = """\
      - {name}:
          capability: tosca.capabilities.nfv.VirtualLinkable
          relationship: tosca.relationships.nfv.VirtualLinksTo
          occurrences: [0, 1]
"""
MAPPING = """\
      {name}: [{port}, virtual_link]
"""
HUGE_PAGES = """\
              huge_pages_requirements:
                - hugepage_size: {page} MiB
                  requested_size: {all} MiB
"""
CONNECTION_POINT = """\
    {name}:
      type: tosca.nodes.nfv.VduCp
      properties:
        layer_protocols: [ethernet]
        description: "{side} side"
        trunk_mode: {trunk}
        order: {order}
        bitrate_requirement: {rate}
        vnic_type: {vnic}
        virtual_network_interface_requirements:
          - name: "dataplane"
            network_interface_requirements:
              interfaceType: "{interface}"
            nic_io_requirements:
              logical_node_requirements:
                localNumaAffinity: "true"
                packetsPerSecond: "{pps}"
      requirements:
        - virtual_binding: vbng
"""


def _pinning(cores):
    """What the vCPUs with a number of their own are for; vCPU 0 does the housekeeping."""
    rules = ["vCPU 0: housekeeping, may be shared"]
    for c in cores:
        place = "physical core alone" if c["own_physical_core"] else "may have an SMT sibling"
        rules.append(f"vCPU {c['core']}: dedicated, {place}, socket {c['socket']}: {', '.join(c['tasks'])}")
    return "".join(f"                  - {quoted(rule)}\n" for rule in rules)


def _links(outside):
    """The requirement virtual_link of each connection point, as one of the VNF: its virtual links are outside of the VNFD."""
    if not outside:
        return "topology_template:\n"
    names = [(quoted(f"virtual_link_{i['name']}"), quoted(i["name"])) for i in outside]
    return NODE_TYPE.format(requirements="".join(REQUIREMENT.format(name=n) for n, _ in names),
                            mappings="".join(MAPPING.format(name=n, port=p) for n, p in names))  # fmt: skip


def _compute(d, outside):
    memory, huge = d["memory"], d["memory"]["hugepages"]
    text = HEAD.format(
        notes="".join(f"# note: {note}\n" for note in d["notes"]), links=_links(outside), name=quoted(d["name"]), vcpus=d["cpus"]["vcpus"],
        smt="enabled" if d["cpus"]["threads_per_core"] > 1 else "disabled", pinning=_pinning(d["cpus"]["cores"]),
        memory=mebibytes(memory["ordinary_bytes"] + huge_bytes(memory)))  # fmt: skip
    if huge:
        text += HUGE_PAGES.format(page=huge["page_bytes"] // MIB, all=huge_bytes(memory) // MIB)
    return text


def _connection_point(interface, order):
    """Access ports carry two tags: trunk_mode. order counts the connection points."""
    kind = interface["kind"]
    return CONNECTION_POINT.format(
        name=quoted(interface["name"]), side=interface["side"], trunk="true" if interface["side"] == ACCESS else "false",
        order=order, rate=interface["bits_per_second"], vnic=VNIC_TYPE.get(kind, "normal"),
        interface=INTERFACE_TYPE.get(kind, "OTHER"), pps=interface["packets_per_second"])  # fmt: skip


def write(d):
    """YAML text of a description."""
    outside = [i for i in d["interfaces"] if i["kind"] != WIRE]
    return _compute(d, outside) + "".join(_connection_point(i, order) for order, i in enumerate(outside))
