#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What --describe says of configurations whose needs are known, in all of its forms.

usage: run.py VBNG
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import pod_schema
import sol001

try:
    import jsonschema
except ImportError:
    jsonschema = None
try:
    import yaml
except ImportError:
    yaml = None

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
NIC = TOP / "cfg/bng-qos-4port-nic.cfg"
LIBRARY = ("--set", "qos.schedulers.access.engine=librte_sched")  # which takes much memory
TIME_LIMIT = 60  # seconds for one program
SWAPPED = ["--set", "ports.cpe1.device=0000:05:00.1", "--set", "ports.core0.device=0000:08:00.0",
           "--set", "ports.core1.device=0000:08:00.1"]


def run(*args):
    return subprocess.run([VBNG, *map(str, args)], capture_output=True, text=True, timeout=TIME_LIMIT)


def text(form, *args):
    r = run(f"--describe={form}", *args)
    assert r.returncode == 0, r.stderr
    return r.stdout


def describe(*args):
    return json.loads(text("json", *args))


def tasks_of(core):
    return {name.split(".")[0] for name in core["tasks"]}


def rates():
    """The paper's theoretical maximum: 51.02 Mpps at 64 and 78 bytes on four ports."""
    d = describe(NIC)
    assert d["memory"]["bandwidth"]["packets_per_second"] == 51020408, d["memory"]
    ports = {i["name"]: i for i in d["interfaces"]}
    assert ports["cpe0"]["packets_per_second"] == 14880952, ports["cpe0"]
    assert (ports["core0"]["smallest_frame"], ports["core0"]["side"]) == (78, "core"), ports["core0"]
    # lines of 64 bytes: frame 2 x 2, descriptors 2, mbuf 4, tables 2, scheduler 16
    assert d["memory"]["bandwidth"]["bytes_per_packet_at_most"] == 28 * 64, d["memory"]
    plain = describe("--topology", "2x10x2", TOP / "cfg/bng-4port.cfg")
    assert plain["memory"]["bandwidth"]["bytes_per_packet_at_most"] == 12 * 64, plain["memory"]


def cards():
    """Table II: with both core ports on one card it has more to carry than one with both sides."""
    d = describe(NIC)
    # (60 + 24 + 22 + 30) bytes at 14.88 Mpps, (74 + 24 + 22 + 30) at 12.76
    access, core = 14880952 * 136 * 8, 12755102 * 150 * 8
    assert [c["bits_per_second"] for c in d["pcie_cards"]] == [access + core] * 2, d["pcie_cards"]
    assert d["pcie_cards"][0]["interfaces"] == ["cpe0", "core0"], d["pcie_cards"]
    assert d["pcie_cards"][0]["lanes"] == {"gen2": 16, "gen3": 8, "gen4": 4, "gen5": 2}
    assert d["notes"] == [], d["notes"]
    d = describe(*SWAPPED, NIC)
    assert [c["bits_per_second"] for c in d["pcie_cards"]] == [2 * access, 2 * core], d["pcie_cards"]
    assert any("one of each on each card" in n for n in d["notes"]), d["notes"]
    fast = describe("--set", "ports.cpe0.line_rate=400G", NIC)["pcie_cards"][0]["lanes"]
    assert fast["gen2"] is None and fast["gen5"] is None, fast


def siblings():
    """Who receives or schedules stays alone; a scheduler's last resort is whom it feeds."""
    cores = describe(NIC)["cpus"]["cores"]
    for c in cores:
        alone = bool(tasks_of(c) & {"classify", "mpls_down", "qos_up", "qos_down"})
        assert c["own_physical_core"] == alone, c
        assert alone == (c["may_share_with"] == []), c
    down = next(c for c in cores if "qos_down" in tasks_of(c))
    tx = next(c for c in cores if "tx_cpe" in tasks_of(c))
    assert down["last_resort"] == [tx["core"]], down
    notes = describe(TOP / "cfg/qos-minimal-fig9.cfg")["notes"]
    assert any("SMT siblings" in n for n in notes), notes
    notes = describe(TOP / "cfg/qos-minimal-fig7.cfg")["notes"]
    assert not any("SMT siblings" in n for n in notes), notes


def cpus():
    d = describe(NIC)["cpus"]
    assert (d["vcpus"], d["physical_cores"], d["threads_per_core"]) == (11, 7, 2), d
    assert d["vcpus_of_whole_cores"] == 16, d


def sockets():
    """A layout over two sockets: the interface that both use is named."""
    d = describe(NIC)
    assert d["placement"] == {"cores_and_nics_on_one_socket": True, "layout_uses_one_socket": True}
    with tempfile.TemporaryDirectory() as folder:
        layout = pathlib.Path(folder) / "layout.cfg"
        source = NIC.read_text()
        layout.write_text(source[source.index("layout = "):].replace('"7s0"', '"7s1"'))
        d = describe("--layout", layout, NIC)
    assert d["placement"]["layout_uses_one_socket"] is False, d["placement"]
    assert d["interfaces"][0]["sockets"] == [0, 1], d["interfaces"][0]
    assert sum("cores of 2 sockets" in n for n in d["notes"]) == 4, d["notes"]


def memory():
    """Pages hold what DPDK gets; 1 GiB only while its DTLB holds the mbufs; none with no-huge."""
    def pages(*settings):
        m = describe(*[w for s in settings for w in ("--set", s)], NIC)["memory"]
        huge = m["hugepages"]
        assert (huge["pages"] - 1) * huge["page_bytes"] < m["dpdk_bytes"], m
        assert huge["pages"] * huge["page_bytes"] >= m["dpdk_bytes"], m
        return huge["page_bytes"]
    assert pages() == 2 << 20
    assert pages(LIBRARY[1]) == 1 << 30
    assert pages(LIBRARY[1], "pools.default.mbufs=2M") == 2 << 20
    small = describe("--set", "memory=auto", "--set", "pools.default.mbufs=32K", TOP / "cfg/bng-4port.cfg")
    assert small["memory"]["hugepages"]["page_bytes"] == 2 << 20, small["memory"]
    m = describe("--set", "memory=no-huge", NIC)["memory"]
    assert m["hugepages"] is None and m["ordinary_bytes"] == m["dpdk_bytes"] + (256 << 20), m


def documented():
    """Every key stands in doc/describe.md."""
    def keys(value):
        if isinstance(value, dict):
            return set(value) | {k for v in value.values() for k in keys(v)}
        return {k for v in value for k in keys(v)} if isinstance(value, list) else set()
    page = (TOP / "doc/describe.md").read_text()
    missing = [k for k in sorted(keys(describe(NIC))) if f"`{k}`" not in page and f"`{k}[]`" not in page]
    assert not missing, missing


def usage():
    for arg in ("--describe=xml", "--describe=k8s,imag=x", "--describe=k8s,image", "--describe=json,image=x",
                "--describe=k8s,image="):
        r = run(arg, NIC)
        assert r.returncode == 2 and "expected json, tosca or k8s" in r.stderr, (arg, r)


def tosca():
    d, t = describe(*LIBRARY, NIC), yaml.safe_load(text("tosca", *LIBRARY, NIC))
    assert sol001.faults(t) == [], sol001.faults(t)
    nodes = t["topology_template"]["node_templates"]
    needs = nodes["vbng"]["capabilities"]["virtual_compute"]["properties"]
    assert needs["virtual_cpu"]["num_virtual_cpu"] == d["cpus"]["vcpus"]
    assert len(needs["virtual_cpu"]["virtual_cpu_pinning"]["virtual_cpu_pinning_rule"]) == d["cpus"]["vcpus"]
    huge = needs["virtual_memory"]["huge_pages_requirements"]
    assert huge == [{"hugepage_size": "1024 MiB", "requested_size": "2048 MiB"}], huge
    assert {n for n in nodes if n != "vbng"} == {"cpe0", "cpe1", "core0", "core1"}
    assert nodes["cpe0"]["properties"]["vnic_type"] == "direct" and nodes["cpe0"]["properties"]["trunk_mode"]
    assert nodes["core0"]["properties"]["bitrate_requirement"] == 10 ** 10
    bad = yaml.safe_load(text("tosca", NIC).replace("vnic_type: direct", "vnic_type: fast"))
    assert len(sol001.faults(bad)) == 4, "the check sees nothing"


def pod(*args):
    p = yaml.safe_load(text(*args))
    jsonschema.validate(p, pod_schema.POD)
    resources = p["spec"]["containers"][0]["resources"]
    assert resources["requests"] == resources["limits"], "not Guaranteed"
    return p, resources["limits"]


def kubernetes():
    d = describe(NIC)
    p, limits = pod("k8s,image=registry/vbng:1,resource=intel.com/dpdk", *LIBRARY, NIC)
    assert p["spec"]["containers"][0]["image"] == "registry/vbng:1"
    assert limits["cpu"] == str(d["cpus"]["vcpus_of_whole_cores"]), limits
    assert limits["intel.com/dpdk"] == "4" and limits["hugepages-1Gi"] == "2048Mi", limits
    networks = json.loads(p["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"])
    assert [n["name"] for n in networks] == ["cpe0", "core0", "cpe1", "core1"], networks
    p, limits = pod("k8s", "--set", "memory=no-huge", "--set", "name=BNG_1.x", TOP / "cfg/bng-memif.cfg")
    assert p["metadata"] == {"name": "bng-1-x"} and set(limits) == {"cpu", "memory"}, (p, limits)


def all_configurations():
    """Each configuration of cfg/ has a description in every form."""
    for path in sorted((TOP / "cfg").glob("*.cfg")):
        describe(path)
        if yaml is not None:
            assert sol001.faults(yaml.safe_load(text("tosca", path))) == [], path
        if yaml is not None and jsonschema is not None:
            pod("k8s", path)


def main():
    cases = [rates, cards, siblings, cpus, sockets, memory, documented, usage, all_configurations]
    cases += [tosca] if yaml is not None else []
    cases += [kubernetes] if yaml is not None and jsonschema is not None else []
    for module, package in ((yaml, "python3-yaml"), (jsonschema, "python3-jsonschema")):
        if module is None:
            print(f"SKIP {package} is not installed")
    failed = 0
    for case in cases:
        try:
            case()
        except Exception as e:  # a case that breaks is a failed case, too
            failed += 1
            print(f"FAIL {case.__name__}: {type(e).__name__}: {e}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    VBNG = sys.argv[1]
    sys.exit(main())
