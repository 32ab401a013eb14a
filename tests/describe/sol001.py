# SPDX-License-Identifier: BSD-3-Clause
"""The types of ETSI GS NFV-SOL 001 v4.4.1 that a description uses, and a check of node templates
against them: unknown and missing properties, types, bounds, valid values, targets of requirements.
definitions() gives the same types to a parser of TOSCA, as the file that a description imports.
"""

import re

SIZE = re.compile(r"\d+(\.\d+)? *(B|kB|KiB|MB|MiB|GB|GiB|TB|TiB)")
PROTOCOLS = ["ethernet", "mpls", "odu2", "ipv4", "ipv6", "pseudo-wire"]
VNICS = ["normal", "macvtap", "direct", "baremetal", "virtio-forwarder", "direct-physical",
         "smart-nic", "bridge", "ipvlan", "loopback", "macvlan", "ptp", "vlan", "host-device"]


def required(kind):
    return kind, True


def optional(kind):
    return kind, False


# A type is a Python type, a set of valid values, "size", ("list", type), ("map", type), or a table of
# properties: name -> (type, required).
STRINGS = ("map", str)
LOGICAL_NODE = {"logical_node_requirements": optional(STRINGS)}
NETWORK_INTERFACE = {
    "name": optional(str), "description": optional(str),
    "network_interface_requirements": required(STRINGS),
    "nic_io_requirements": optional(LOGICAL_NODE),
}
MEMORY = {
    "virtual_mem_size": required("size"), "virtual_mem_oversubscription_policy": optional(str),
    "vdu_mem_requirements": optional(STRINGS), "numa_enabled": required(bool),
    "huge_pages_requirements": optional(("list", {"hugepage_size": required("size"),
                                                  "requested_size": required("size")})),
}
CPU = {
    "cpu_architecture": optional(str), "num_virtual_cpu": required(int),
    "virtual_cpu_clock": optional(str), "virtual_cpu_oversubscription_policy": optional(str),
    "vdu_cpu_requirements": optional(STRINGS),
    "virtual_cpu_pinning": optional({
        "virtual_cpu_pinning_policy": optional({"static", "dynamic"}),
        "virtual_cpu_pinning_rule": optional(("list", str))}),
}
NODES = {
    "tosca.nodes.nfv.Vdu.Compute": {
        "properties": {
            "name": required(str), "description": required(str), "boot_order": optional(bool),
            "nfvi_constraints": optional(STRINGS),
            "vdu_profile": required({"min_number_of_instances": required(int),
                                     "max_number_of_instances": required(int)})},
        "capabilities": {"virtual_compute": {
            "logical_node": optional(("map", LOGICAL_NODE)), "compute_requirements": optional(STRINGS),
            "virtual_memory": required(MEMORY), "virtual_cpu": required(CPU)}},
        "requirements": {"virtual_storage": "tosca.nodes.nfv.Vdu.VirtualBlockStorage"},
    },
    "tosca.nodes.nfv.VduCp": {
        "properties": {
            "layer_protocols": required(("list", set(PROTOCOLS))), "role": optional({"root", "leaf"}),
            "description": optional(str), "trunk_mode": optional(bool),
            "bitrate_requirement": optional(int), "order": optional(int),
            "virtual_network_interface_requirements": optional(("list", NETWORK_INTERFACE)),
            "vnic_type": optional(set(VNICS))},
        "capabilities": {},
        "requirements": {"virtual_binding": "tosca.nodes.nfv.Vdu.Compute",
                         "virtual_link": "tosca.nodes.nfv.VnfVirtualLink"},
    },
}


def value_faults(where, value, kind):
    if isinstance(kind, dict):
        return table_faults(where, value, kind)
    if isinstance(kind, set):
        return [] if value in kind else [f"{where}: {value!r} is none of {sorted(kind)}"]
    if isinstance(kind, tuple):
        shape, entry = kind
        if not isinstance(value, list if shape == "list" else dict):
            return [f"{where}: not a {shape}: {value!r}"]
        items = enumerate(value) if shape == "list" else value.items()
        return [f for k, v in items for f in value_faults(f"{where}.{k}", v, entry)]
    if kind == "size":
        fits = isinstance(value, str) and SIZE.fullmatch(value)
        return [] if fits else [f"{where}: not a size: {value!r}"]
    if type(value) is not kind:
        return [f"{where}: {value!r} is no {kind.__name__}"]
    return [f"{where}: negative: {value}"] if kind is int and value < 0 else []


def table_faults(where, value, table):
    if not isinstance(value, dict):
        return [f"{where}: not a group: {value!r}"]
    wrong = [f"{where}: unknown property {k!r}" for k in value if k not in table]
    wrong += [f"{where}: property {k!r} is missing" for k, (_, must) in table.items()
              if must and k not in value]
    return wrong + [f for k, v in value.items() if k in table
                    for f in value_faults(f"{where}.{k}", v, table[k][0])]


def node_faults(name, node, nodes):
    kind = NODES.get(node.get("type"))
    if kind is None:
        return [f"{name}: unknown type {node.get('type')!r}"]
    wrong = [f"{name}: unknown key {k!r}" for k in node
             if k not in ("type", "properties", "capabilities", "requirements")]
    wrong += table_faults(name, node.get("properties", {}), kind["properties"])
    given = node.get("capabilities", {})
    wrong += [f"{name}: unknown capability {k!r}" for k in given if k not in kind["capabilities"]]
    for k, table in kind["capabilities"].items():
        wrong += table_faults(f"{name}.{k}", given.get(k, {}).get("properties", {}), table)
    for k, target in (pair for r in node.get("requirements", []) for pair in r.items()):
        if k not in kind["requirements"]:
            wrong.append(f"{name}: unknown requirement {k!r}")
        elif nodes.get(target, {}).get("type") != kind["requirements"][k]:
            wrong.append(f"{name}: {k!r} leads to {target!r}, which is no {kind['requirements'][k]}")
    return wrong


def faults(template):
    """What is wrong with a parsed service template: a list of texts."""
    wrong = []
    if template.get("tosca_definitions_version") != "tosca_simple_yaml_1_3":
        wrong.append("tosca_definitions_version is not that of SOL001 v4.4.1")
    if "etsi_nfv_sol001_vnfd_types.yaml" not in template.get("imports", []):
        wrong.append("the types are not imported")
    nodes = template["topology_template"]["node_templates"]
    return wrong + [f for name, node in nodes.items() for f in node_faults(name, node, nodes)]


PLAIN = {str: "string", int: "integer", bool: "boolean", "size": "scalar-unit.size"}


def definition(name, kind, data_types):
    """A property's definition in TOSCA without "required". data_types receives the types that it needs: {name: definition}."""
    if isinstance(kind, dict):
        data_types[name] = {"derived_from": "tosca.datatypes.Root", "properties": definitions_of(name, kind, data_types)}
        return {"type": name}
    if isinstance(kind, set):
        return {"type": "string", "constraints": [{"valid_values": sorted(kind)}]}
    if isinstance(kind, tuple):
        return {"type": kind[0], "entry_schema": definition(name, kind[1], data_types)}
    return {"type": PLAIN[kind]}


def definitions_of(name, table, data_types):
    """Definitions of a table of properties."""
    return {k: {**definition(f"{name}.{k}", kind, data_types), "required": must} for k, (kind, must) in table.items()}


def definitions():
    """The types as a service template in TOSCA 1.3."""
    data, capabilities, relationships = {}, {}, {}
    nodes = {"tosca.nodes.nfv.VNF": {"derived_from": "tosca.nodes.Root"},
             "tosca.nodes.nfv.VnfVirtualLink": {"derived_from": "tosca.nodes.Root",
                                                "capabilities": {"virtual_linkable": {"type": "tosca.capabilities.nfv.VirtualLinkable"}}}}
    for name in ("VirtualBindable", "VirtualLinkable"):
        capabilities[f"tosca.capabilities.nfv.{name}"] = {"derived_from": "tosca.capabilities.Root"}
    for name in ("VirtualBindsTo", "VirtualLinksTo"):
        relationships[f"tosca.relationships.nfv.{name}"] = {"derived_from": "tosca.relationships.Root"}
    for name, node in NODES.items():
        nodes[name] = {"derived_from": "tosca.nodes.Root", "properties": definitions_of(name, node["properties"], data), "capabilities": {}}
        for capability, table in node["capabilities"].items():
            kind = f"{name}.{capability}"
            capabilities[kind] = {"derived_from": "tosca.capabilities.Root", "properties": definitions_of(kind, table, data)}
            nodes[name]["capabilities"][capability] = {"type": kind}
    compute, point = nodes["tosca.nodes.nfv.Vdu.Compute"], nodes["tosca.nodes.nfv.VduCp"]
    compute["capabilities"]["virtual_binding"] = {"type": "tosca.capabilities.nfv.VirtualBindable"}
    point["requirements"] = [
        {need: {"capability": f"tosca.capabilities.nfv.{ability}", "relationship": f"tosca.relationships.nfv.{relation}",
                "node": NODES["tosca.nodes.nfv.VduCp"]["requirements"][need], "occurrences": occurrences}}
        for need, ability, relation, occurrences in (("virtual_binding", "VirtualBindable", "VirtualBindsTo", [1, 1]),
                                                     ("virtual_link", "VirtualLinkable", "VirtualLinksTo", [0, 1]))]
    return {"tosca_definitions_version": "tosca_simple_yaml_1_3", "data_types": data, "capability_types": capabilities,
            "relationship_types": relationships, "node_types": nodes}
