# SPDX-License-Identifier: BSD-3-Clause
"""The description as a VNFD by ETSI GS NFV-SOL 006 v3.3.1 (YANG), in JSON, which is YAML too. OSM reads it: the keys mempage-size and
virtual-interface are those by which OSM's information model augments it."""

import json
import math

from .ports import ACCESS, PCI, VHOST, WIRE
from .yaml_text import MIB, huge_bytes

GB = 1e9
VDU, COMPUTE, IMAGE = "vbng", "vbng-compute", "vbng-image"
MODULE = "etsi-nfv-descriptors"
ETHERNET = f"{MODULE}:ethernet"
VNIC_TYPE = {PCI: "direct", VHOST: "virtio-forwarder"}
OSM_TYPE = {PCI: "SR-IOV"}  # else PARAVIRT
OSM_PAGES = {2 * MIB: "SIZE_2MB", 1024 * MIB: "SIZE_1GB"}
NOTHING = {"parameter": [{"key": "none", "value": "none"}]}  # the model wants one
OPERATIONS = {"create-snapshot-vnf-op-config": NOTHING, "revert-to-snapshot-vnf-op-config": NOTHING}
OSM_KEYS = ("mempage-size", "virtual-interface")


def _pairs(**values):
    """A list of key and value, as the model has maps."""
    return [{"key": k.replace("_", "-"), "value": v} for k, v in values.items()]


def _connection_point(interface, order):
    tagged = ", frames with two tags" if interface["side"] == ACCESS else ""
    requirement = {"name": interface["name"], "network-interface-requirements": _pairs(
        packets_per_second=str(interface["packets_per_second"])), "virtual-interface": {"type": OSM_TYPE.get(interface["kind"], "PARAVIRT")}}  # fmt: skip
    return {
        "id": f"{interface['name']}-int", "description": f"{interface['side']} side{tagged}", "order": order, "layer-protocol": [ETHERNET],
        "bitrate-requirement": str(interface["bits_per_second"] // 1000000), "virtual-network-interface-requirement": [requirement],
        "vnic-type": f"{MODULE}:{VNIC_TYPE.get(interface['kind'], 'normal')}",
    }


def _pinning(cores):
    rules = ["housekeeping, may be shared"]
    for c in cores:
        place = "physical core alone" if c["own_physical_core"] else "may have an SMT sibling"
        rules.append(f"core {c['core']}, dedicated, {place}, socket {c['socket']}: {', '.join(c['tasks'])}")
    return {"policy": "static", "rule": [{"key": f"vcpu-{n}", "value": text} for n, text in enumerate(rules)]}


def _compute(d):
    memory, huge = d["memory"], d["memory"]["hugepages"]
    size = memory["ordinary_bytes"] + huge_bytes(memory)
    virtual_memory = {"size": f"{math.ceil(size / GB * 10) / 10:.1f}", "numa-enabled": True, "over-subscription-policy": "none"}
    if huge:
        virtual_memory["vdu-mem-requirements"] = _pairs(huge_page_bytes=str(huge["page_bytes"]), huge_pages=str(huge["pages"]))
        virtual_memory["mempage-size"] = OSM_PAGES[huge["page_bytes"]]
    return {"id": COMPUTE, "virtual-memory": virtual_memory, "virtual-cpu": {
        "cpu-architecture": "x86_64", "num-virtual-cpu": d["cpus"]["vcpus"], "oversubscription-policy": "none",
        "vdu-cpu-requirements": _pairs(simultaneous_multi_threading="enabled" if d["cpus"]["threads_per_core"] > 1 else "disabled"),
        "pinning": _pinning(d["cpus"]["cores"])}}  # fmt: skip


def _image(version, size):
    """The image's descriptor, which the model wants: only the packager knows its checksum and size."""
    return {"id": IMAGE, "name": "vbng", "version": version, "checksum": {"algorithm": f"{MODULE}:sha-256", "hash": "unknown"},
            "container-format": "bare", "disk-format": "qcow2", "min-disk": "2", "min-ram": size, "size": "1", "image": "vbng.qcow2"}  # fmt: skip


def write(d, version):
    """JSON text of a description. version: of vbng. A configuration of wires alone has no connection point, which the model wants."""
    outside = [i for i in d["interfaces"] if i["kind"] != WIRE]
    name, compute = d["name"], _compute(d)
    vnfd = {
        "id": name, "provider": "vbng", "product-name": name, "software-version": version, "version": "1.0", "vnfm-info": ["vbng"],
        "vdu": [{"id": VDU, "name": VDU, "description": "virtual Broadband Network Gateway with hierarchical QoS",
                 "int-cpd": [_connection_point(i, order) for order, i in enumerate(outside)], "virtual-compute-desc": COMPUTE, "sw-image-desc": IMAGE}],
        "virtual-compute-desc": [compute], "sw-image-desc": [_image(version, compute["virtual-memory"]["size"])],
        "ext-cpd": [{"id": i["name"], "int-cpd": {"vdu-id": VDU, "cpd": f"{i['name']}-int"}, "layer-protocol": [ETHERNET]} for i in outside],
        "df": [{"id": "default", "vdu-profile": [{"id": VDU, "min-number-of-instances": 1, "max-number-of-instances": 1,
                                                     "nfvi-maintenance-info": {"impact-notification-lead-time": 0}}],
                "instantiation-level": [{"id": "default", "vdu-level": [{"vdu-id": VDU, "number-of-instances": 1}]}],
                "default-instantiation-level": "default", "lcm-operations-configuration": OPERATIONS}],
    }  # fmt: skip
    return json.dumps({"vnfd": vnfd}, indent=2, ensure_ascii=False) + "\n"
