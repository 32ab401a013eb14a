# SPDX-License-Identifier: BSD-3-Clause
"""What vbng-lab describe says of configurations whose needs are known, in all of its forms."""

import json
import os
import pathlib
import re
from xml.etree import ElementTree

import pytest

from tests.common import need
from tests.common.verdict import unless
from tests.describe import pod_schema, sol001
from vbnglab.describe import sol006

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
NIC = TOP / "cfg/bng-qos-4port-nic.cfg"
CONFIGURATIONS = sorted((TOP / "cfg").glob("*.cfg"))
SOME = [pytest.param(path, id=path.stem, marks=unless(path.stem in ("bng-qos-4port-pipeline", "bng-veth", "gen-vhost"))) for path in CONFIGURATIONS]
LIBRARY = ("--set", "qos.schedulers.access.backend=librte_sched")  # which takes much memory
FORMS = ("json", "tosca", "sol006", "k8s", "pcie", "smt", "dot")
SWAPPED = ["--set", "ports.cpe1.device=0000:05:00.1", "--set", "ports.core0.device=0000:08:00.0",
           "--set", "ports.core1.device=0000:08:00.1"]


class Tool:
    """vbng-lab describe, for the program to test."""

    def __init__(self, vbng, run):
        self.vbng, self.run_program = vbng, run

    def run(self, *args):
        return self.run_program(TOP / "tools/vbng-lab", "describe", "--vbng", self.vbng, *args)

    def plan(self, *args):
        return self.run_program(self.vbng, "--plan=json", *args)

    def text(self, form, *args):
        r = self.run(form, *args)
        assert r.returncode == 0, r.stderr
        return r.stdout

    def json(self, *args):
        return json.loads(self.text("json", *args))

    def tosca(self, *args):
        return need.module("yaml", "python3-yaml").safe_load(self.text("tosca", *args))

    def objects(self, *args):
        """The objects of Kubernetes, each of which has its schema."""
        found = list(need.module("yaml", "python3-yaml").safe_load_all(self.text("k8s", *args)))
        for o in found:
            need.module("jsonschema", "python3-jsonschema").validate(o, pod_schema.KINDS[o["kind"]])
        return found

    def pod(self, *args):
        """(Pod that has the schema, its limits)."""
        (p,) = (o for o in self.objects(*args) if o["kind"] == "Pod")
        resources = p["spec"]["containers"][0]["resources"]
        assert resources["requests"] == resources["limits"], "not Guaranteed"
        return p, resources["limits"]


@pytest.fixture
def tool(vbng, run):
    return Tool(vbng, run)


def tasks_of(core):
    return {name.split(".")[0] for name in core["tasks"]}


def test_rates(tool):
    """The paper's theoretical maximum: 51.02 Mpps at 64 and 78 bytes on four ports."""
    d = tool.json(NIC)
    assert d["memory"]["bandwidth"]["packets_per_second"] == 51020408, d["memory"]
    ports = {i["name"]: i for i in d["interfaces"]}
    assert ports["cpe0"]["packets_per_second"] == 14880952, ports["cpe0"]
    assert (ports["core0"]["smallest_frame"], ports["core0"]["side"]) == (78, "core"), ports["core0"]
    # lines of 64 bytes: frame 2 x 2, descriptors 2, mbuf 4, tables 2, scheduler 16
    assert d["memory"]["bandwidth"]["bytes_per_packet_at_most"] == 28 * 64, d["memory"]
    plain = tool.json("--topology", "2x10x2", TOP / "cfg/bng-4port.cfg")
    assert plain["memory"]["bandwidth"]["bytes_per_packet_at_most"] == 12 * 64, plain["memory"]


def test_cards(tool):
    """Table II: with both core ports on one card it has more to carry than one with both sides."""
    d = tool.json(NIC)
    # (60 + 24 + 22 + 30) bytes at 14.88 Mpps, (74 + 24 + 22 + 30) at 12.76
    access, core = 14880952 * 136 * 8, 12755102 * 150 * 8
    assert [c["bits_per_second"] for c in d["pcie_cards"]] == [access + core] * 2, d["pcie_cards"]
    assert d["pcie_cards"][0]["interfaces"] == ["cpe0", "core0"], d["pcie_cards"]
    assert d["pcie_cards"][0]["lanes"] == {"gen2": 16, "gen3": 8, "gen4": 4, "gen5": 2}
    assert d["notes"] == [], d["notes"]
    d = tool.json(*SWAPPED, NIC)
    assert [c["bits_per_second"] for c in d["pcie_cards"]] == [2 * access, 2 * core], d["pcie_cards"]
    assert any("one of each on each card" in n for n in d["notes"]), d["notes"]
    fast = tool.json("--set", "ports.cpe0.line_rate=400G", NIC)["pcie_cards"][0]["lanes"]
    assert fast["gen2"] is None and fast["gen5"] is None, fast


def test_siblings(tool):
    """Who receives or schedules stays alone; a scheduler's last resort is whom it feeds."""
    cores = tool.json(NIC)["cpus"]["cores"]
    for c in cores:
        alone = bool(tasks_of(c) & {"classify", "mpls_down", "qos_up", "qos_down"})
        assert c["own_physical_core"] == alone, c
        assert alone == (c["may_share_with"] == []), c
    down = next(c for c in cores if "qos_down" in tasks_of(c))
    tx = next(c for c in cores if "tx_cpe" in tasks_of(c))
    assert down["last_resort"] == [tx["core"]], down
    notes = tool.json(TOP / "cfg/qos-minimal-fig9.cfg")["notes"]
    assert any("SMT siblings" in n for n in notes), notes
    notes = tool.json(TOP / "cfg/qos-minimal-fig7.cfg")["notes"]
    assert not any("SMT siblings" in n for n in notes), notes


def test_cpus(tool):
    d = tool.json(NIC)["cpus"]
    assert (d["vcpus"], d["physical_cores"], d["threads_per_core"]) == (11, 7, 2), d
    assert d["vcpus_of_whole_cores"] == 16, d


def test_sockets(tool, folder):
    """A layout over two sockets: the interface that both use is named."""
    d = tool.json(NIC)
    assert d["placement"] == {"cores_and_nics_on_one_socket": True, "layout_uses_one_socket": True}
    layout = folder / "layout.cfg"
    source = NIC.read_text()
    layout.write_text(source[source.index("layout = "):].replace('"7s0"', '"7s1"'))
    d = tool.json("--layout", layout, NIC)
    assert d["placement"]["layout_uses_one_socket"] is False, d["placement"]
    assert d["interfaces"][0]["sockets"] == [0, 1], d["interfaces"][0]
    assert sum("cores of 2 sockets" in n for n in d["notes"]) == 4, d["notes"]


def test_memory(tool):
    """Pages hold what DPDK gets; 1 GiB only while its DTLB holds the mbufs; none with no-huge."""
    def pages(*settings):
        m = tool.json(*[w for s in settings for w in ("--set", s)], NIC)["memory"]
        huge = m["hugepages"]
        assert (huge["pages"] - 1) * huge["page_bytes"] < m["dpdk_bytes"], m
        assert huge["pages"] * huge["page_bytes"] >= m["dpdk_bytes"], m
        return huge["page_bytes"]
    assert pages() == 2 << 20
    assert pages(LIBRARY[1]) == 1 << 30
    assert pages(LIBRARY[1], "pools.default.mbufs=2M") == 2 << 20
    small = tool.json("--set", "memory=auto", "--set", "pools.default.mbufs=32K", TOP / "cfg/bng-4port.cfg")
    assert small["memory"]["hugepages"]["page_bytes"] == 2 << 20, small["memory"]
    m = tool.json("--set", "memory=no-huge", NIC)["memory"]
    assert m["hugepages"] is None and m["ordinary_bytes"] == m["dpdk_bytes"] + (256 << 20), m


def test_documented(tool):
    """Every key stands in doc/describe.md."""
    def keys(value):
        if isinstance(value, dict):
            return set(value) | {k for v in value.values() for k in keys(v)}
        return {k for v in value for k in keys(v)} if isinstance(value, list) else set()
    page = (TOP / "doc/describe.md").read_text()
    missing = [k for k in sorted(keys(tool.json(NIC))) if f"`{k}`" not in page and f"`{k}[]`" not in page]
    assert not missing, missing


def test_usage(tool):
    for args, words in ((["xml", NIC], "invalid choice: 'xml'"), (["k8s", "--picture", "x", NIC], "unrecognized arguments: --picture"),
                        (["k8s", NIC, "--image"], "expected one argument"), (["json", "--image", "x", NIC], "--image is for k8s and libvirt"),
                        (["k8s", "--image", "", NIC], "expected a name"), (["json"], "required: CONFIG")):
        r = tool.run(*args)
        assert r.returncode == 2 and words in r.stderr and not r.stdout, (args, r)


def test_errors(tool):
    """What vbng says of a configuration arrives unchanged, as does its exit status; a vbng that is not there is named."""
    for args, forms in ((["--set", "tasks=x", NIC], FORMS), (["--topology", "1x1x1", NIC], ("json",)), (["--topology", "junk", NIC], ("tosca",)),
                        ([TOP / "cfg/absent.cfg"], ("dot",))):  # fmt: skip
        plain = tool.plan(*args)
        for form in forms:
            r = tool.run(form, *args)
            assert (r.returncode, r.stdout, r.stderr) == (1, "", plain.stderr) and r.stderr, (form, r, plain)
    r = tool.run("json", "--vbng", "/nonexistent/vbng", NIC)
    assert r.returncode == 3 and "/nonexistent/vbng: No such file" in r.stderr and "--vbng" in r.stderr, r


def test_other_programs(tool, folder):
    """What is no vbng, or an older one, is said to be."""
    for prints, words in (("echo hello", "the plan is no JSON"), ("echo '{\"name\": \"x\"}'", "an older vbng")):
        program = folder / "vbng"
        program.write_text(f"#!/bin/sh\n{prints}\n")
        program.chmod(0o755)
        r = tool.run("json", "--vbng", program, NIC)
        assert (r.returncode, r.stdout) == (3, "") and words in r.stderr and "Traceback" not in r.stderr, r


def test_warnings(tool):
    """They go to standard error, and the description to standard output."""
    lossy = ["--set", "ports.cpe0.on_full=drop", NIC]
    plain = tool.plan(*lossy)
    r = tool.run("json", *lossy)
    assert r.returncode == 0 and r.stderr == plain.stderr != "" and json.loads(r.stdout), (r, plain)


def test_tosca(tool):
    d, t = tool.json(*LIBRARY, NIC), tool.tosca(*LIBRARY, NIC)
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
    mappings = t["topology_template"]["substitution_mappings"]
    assert mappings["requirements"] == {f"virtual_link_{p}": [p, "virtual_link"] for p in ("cpe0", "core0", "cpe1", "core1")}
    wanted = [r for requirement in t["node_types"][mappings["node_type"]]["requirements"] for r in requirement]
    assert wanted == list(mappings["requirements"])
    bad = need.module("yaml", "python3-yaml").safe_load(tool.text("tosca", NIC).replace("vnic_type: direct", "vnic_type: fast"))
    assert len(sol001.faults(bad)) == 4, "the check sees nothing"


def test_tosca_by_its_parser(tool, folder):
    """OpenStack's parser of TOSCA takes the VNFD: its grammar, types, requirements and substitution mappings."""
    yaml = need.module("yaml", "python3-yaml")
    parser, failure = need.fetched("toscaparser.tosca_template"), need.fetched("toscaparser.common.exception")
    (folder / "etsi_nfv_sol001_vnfd_types.yaml").write_text(yaml.safe_dump(sol001.definitions()))
    path = folder / "vnfd.yaml"

    def parsed(text):
        path.write_text(text)
        return parser.ToscaTemplate(str(path))

    for configuration in (TOP / "cfg/bng-4port.cfg", TOP / "cfg/bng-virtio-user.cfg", NIC):
        text = tool.text("tosca", configuration)
        names = {n.name for n in parsed(text).nodetemplates}
        assert names == set(yaml.safe_load(text)["topology_template"]["node_templates"]), configuration
    for right, wrong in (("virtual_binding: vbng", "virtual_binding: other"), ("num_virtual_cpu: ", "num_virtual_cpu: x"), ("vnic_type: ", "vnic: "),
                         ("type: tosca.nodes.nfv.VduCp", "type: tosca.nodes.nfv.Cp"), ("node_templates:", "nodes:")):  # fmt: skip
        assert right in text
        with pytest.raises((failure.TOSCAException, failure.ValidationError, KeyError)):
            parsed(text.replace(right, wrong, 1))


def test_sol006(tool):
    """What a description says is in the VNFD, and all that refers to something finds it."""
    d, v = tool.json(*LIBRARY, NIC), json.loads(tool.text("sol006", *LIBRARY, NIC))["vnfd"]
    (vdu,), (compute,), (flavour,) = v["vdu"], v["virtual-compute-desc"], v["df"]
    assert vdu["virtual-compute-desc"] == compute["id"] and flavour["vdu-profile"][0]["id"] == vdu["id"]
    cpu, memory = compute["virtual-cpu"], compute["virtual-memory"]
    assert cpu["num-virtual-cpu"] == d["cpus"]["vcpus"] == len(cpu["pinning"]["rule"])
    need_bytes = d["memory"]["ordinary_bytes"] + d["memory"]["hugepages"]["pages"] * d["memory"]["hugepages"]["page_bytes"]
    assert need_bytes <= float(memory["size"]) * 1e9 < need_bytes + 2e8 and memory["mempage-size"] == "SIZE_1GB", memory
    points = {c["id"]: c for c in vdu["int-cpd"]}
    assert {(e["id"], e["int-cpd"]["cpd"]) for e in v["ext-cpd"]} == {(p, f"{p}-int") for p in ("cpe0", "cpe1", "core0", "core1")}
    assert set(points) == {e["int-cpd"]["cpd"] for e in v["ext-cpd"]}
    assert points["cpe0-int"]["bitrate-requirement"] == "10000"
    assert points["cpe0-int"]["virtual-network-interface-requirement"][0]["virtual-interface"] == {"type": "SR-IOV"}


def without_osm(value):
    """A VNFD without what OSM's information model adds to that of SOL006."""
    if isinstance(value, dict):
        return {k: without_osm(v) for k, v in value.items() if k not in sol006.OSM_KEYS}
    return [without_osm(v) for v in value] if isinstance(value, list) else value


def test_sol006_by_its_own_modules(tool, folder):
    """ETSI's YANG modules, where somebody has brought them (forge.etsi.org/rep/nfv/SOL006), with yanglint."""
    yanglint, modules = need.program("yanglint", "libyang2-tools"), os.environ.get("SOL006_YANG", "")
    if not os.path.exists(f"{modules}/etsi-nfv-vnfd.yang"):
        need.skip("$SOL006_YANG is no folder with ETSI's modules (src/yang of forge.etsi.org/rep/nfv/SOL006)")
    for path in pathlib.Path(modules).glob("*.yang"):  # libyang takes no deref() in a path; network services have them, VNFDs none
        (folder / path.name).write_text(re.sub(r'type leafref\s*\{\s*path\s*"deref\([^;]*;\s*(require-instance \w+;\s*)?\}', "type string;", path.read_text()))
    for config in CONFIGURATIONS:
        vnfd = json.loads(tool.text("sol006", config))["vnfd"]
        if not vnfd["ext-cpd"]:
            continue  # of wires alone: there is nothing to connect
        data = folder / "vnfd.json"
        data.write_text(json.dumps({"etsi-nfv-vnfd:vnfd": without_osm(vnfd)}))
        done = tool.run_program(yanglint, "-p", folder, folder / "etsi-nfv-vnfd.yang", data)
        assert done.returncode == 0, (config, done.stderr)


def test_kubernetes(tool):
    d = tool.json(NIC)
    p, limits = tool.pod("--image", "registry/vbng:1", "--resource", "intel.com/dpdk", *LIBRARY, NIC)
    assert p["spec"]["containers"][0]["image"] == "registry/vbng:1"
    assert limits["cpu"] == str(d["cpus"]["vcpus_of_whole_cores"]), limits
    assert limits["intel.com/dpdk"] == "4" and limits["hugepages-1Gi"] == "2048Mi", limits
    networks = json.loads(p["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"])
    assert [n["name"] for n in networks] == ["cpe0", "core0", "cpe1", "core1"], networks
    p, limits = tool.pod("--set", "memory=no-huge", "--set", "name=BNG_1.x", TOP / "cfg/bng-memif.cfg")
    assert p["metadata"] == {"name": "bng-1-x"} and set(limits) == {"cpu", "memory"}, (p, limits)
    version = tool.run_program(tool.vbng, "--version").stdout.split()[1]
    assert p["spec"]["containers"][0]["image"] == f"vbng:{version}", p


def test_kubernetes_configuration(tool, folder):
    """The ConfigMap's file is the configuration with all that it includes, and vbng takes it alone: the plan is the same."""
    for config in (NIC, TOP / "cfg/bng-virtio-user.cfg"):
        (config_map,) = (o for o in tool.objects(config) if o["kind"] == "ConfigMap")
        alone = folder / config.name
        alone.write_text(config_map["data"]["vbng.cfg"])
        assert "@include" not in config_map["data"]["vbng.cfg"]
        plans = [json.loads(tool.plan("--topology", "2x10x2", path).stdout) for path in (config, alone)]
        assert plans[0].pop("configuration") != plans[1].pop("configuration") and plans[0] == plans[1]


def test_kubernetes_tables(tool, folder):
    """Tables beside the configuration are in the ConfigMap byte for byte; what it cannot hold is named."""
    text = (TOP / "cfg/bng-virtio-user.cfg").read_text().replace('@include "common/subscribers.cfg"', 'subscribers = ( { csv = "people.csv"; } );')
    for name in ("routes.cfg", "gateway.cfg"):
        text = text.replace(f'@include "common/{name}"', (TOP / "cfg/common" / name).read_text())
    (folder / "mine.cfg").write_text(text)
    table = "port,svlan,cvlan,ipv4,gre_key,mac\ncpe0,128,256,10.0.0.0,0,02:c0:00:00:00:00\n"
    (folder / "people.csv").write_text(table)
    (config_map,) = (o for o in tool.objects(folder / "mine.cfg") if o["kind"] == "ConfigMap")
    assert config_map["data"] == {"vbng.cfg": text, "people.csv": table}
    (folder / "people.csv").write_text(table + "#" * (1 << 20) + "\n")
    said = tool.text("k8s", folder / "mine.cfg")
    assert said.startswith("# people.csv is too large for a ConfigMap"), said[:200]
    assert "people.csv" not in tool.objects(folder / "mine.cfg")[0]["data"]


def test_kubernetes_networks_and_sockets(tool):
    """A network for each PCI interface; capabilities by what the drivers need; volumes for sockets."""
    networks = [o for o in tool.objects("--resource", "intel.com/dpdk", NIC) if o["kind"] == "NetworkAttachmentDefinition"]
    assert [n["metadata"]["name"] for n in networks] == ["cpe0", "core0", "cpe1", "core1"]
    assert {n["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] for n in networks} == {"intel.com/dpdk"}
    assert json.loads(networks[0]["spec"]["config"])["type"] == "sriov"
    for config, adds, folders in (("bng-virtio-user", ["IPC_LOCK"], ["/run/vbng"]), ("bng-veth", ["IPC_LOCK", "NET_ADMIN", "NET_RAW"], [])):
        p, _ = tool.pod(TOP / f"cfg/{config}.cfg")
        (container,) = p["spec"]["containers"]
        assert container["securityContext"]["capabilities"]["add"] == adds, config
        assert [v["hostPath"]["path"] for v in p["spec"]["volumes"] if "hostPath" in v] == folders, config
        mounted = {m["name"] for m in container["volumeMounts"]}
        assert mounted == {v["name"] for v in p["spec"]["volumes"]}, config
    p, _ = tool.pod("--set", "ports.cpe0.device=net_virtio_user0,path=/var/run/sw/a.sock", TOP / "cfg/bng-virtio-user.cfg")
    assert [v["hostPath"]["path"] for v in p["spec"]["volumes"] if "hostPath" in v] == ["/run/vbng", "/var/run/sw"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # its own
def test_kubernetes_by_its_own_schema(tool):
    """The API's own schemas."""
    validate = need.fetched("kubernetes_validate")
    for config in (NIC, TOP / "cfg/bng-virtio-user.cfg", TOP / "cfg/bng-veth.cfg"):
        for o in tool.objects(config):
            if o["kind"] != "NetworkAttachmentDefinition":
                validate.validate(o, validate.latest_version(), strict=True)


def test_probes_are_commands_of_the_client(tool, vbng, run, folder):
    """What the probes ask is answered by a vbng that was started as the Pod starts it."""
    p, _ = tool.pod(TOP / "cfg/bng-virtio-user.cfg")
    (container,) = p["spec"]["containers"]
    probe = container["livenessProbe"]["exec"]["command"]
    socket = probe[probe.index("--socket") + 1]
    assert container["command"][container["command"].index("--control") + 1] == socket
    assert probe == container["startupProbe"]["exec"]["command"]
    away = run(TOP / "tools/vbngctl", "--socket", folder / "none", *probe[3:])
    assert away.returncode == 1 and "none" in away.stderr, away  # the command is known, nobody answers


VM = TOP / "cfg/bng-vm.cfg"


def domain(tool, *args):
    return ElementTree.fromstring(tool.text("libvirt", *args))


def test_libvirt(tool):
    """Shared huge pages, each vCPU pinned, a cell for each socket, ports at the addresses of the configuration with its queues."""
    d, x = tool.json("--topology", "2x4x2", VM), domain(tool, "--topology", "2x4x2", "--cpus", "4-19", "--sockets", "/run/sw", VM)
    assert [(p.get("vcpu"), p.get("cpuset")) for p in x.iter("vcpupin")] == [(str(n), str(n + 4)) for n in range(16)]
    assert x.findtext("vcpu") == "16" and dict(x.find("cpu/topology").items()) == {"sockets": "2", "cores": "4", "threads": "2"}
    cells = x.findall("cpu/numa/cell")
    assert [c.get("cpus") for c in cells] == ["0-7", "8-15"] and {c.get("memAccess") for c in cells} == {"shared"}
    assert sum(int(c.get("memory")) for c in cells) == int(x.findtext("memory"))
    huge = d["memory"]["hugepages"]
    assert all(int(c.get("memory")) << 20 > huge["pages"] * huge["page_bytes"] for c in cells), "all huge pages may be wanted on one"
    assert x.find("memoryBacking/access").get("mode") == "shared" and x.find("memoryBacking/hugepages/page").get("size") == "2048"
    ports = {i.find("source").get("path"): i for i in x.iter("interface")}
    assert list(ports) == [f"/run/sw/{i['name']}.sock" for i in d["interfaces"]]
    for i in d["interfaces"]:
        port = ports[f"/run/sw/{i['name']}.sock"]
        a = [int(port.find("address").get(k), 16) for k in ("domain", "bus", "slot", "function")]
        assert "{:04x}:{:02x}:{:02x}.{:x}".format(*a) == i["device"]
        assert port.get("type") == "vhostuser" and port.find("driver").get("queues") == str(max(i["rx_queues"], i["tx_queues"]))
    assert x.find("numatune") is None
    placed = domain(tool, "--topology", "2x4x2", "--nodes", "1,0", VM).find("numatune")
    assert placed.find("memory").get("nodeset") == "0,1"
    assert [(m.get("cellid"), m.get("nodeset")) for m in placed.findall("memnode")] == [("0", "1"), ("1", "0")]


def test_libvirt_disks(tool):
    plain = domain(tool, "--topology", "1x2x1", VM)
    assert [s.get("file") for s in plain.findall("devices/disk/source")] == ["/var/lib/libvirt/images/vbng.qcow2"]
    both = domain(tool, "--topology", "1x2x1", "--image", "/x/a.qcow2", "--seed", "/x/s.iso", VM)
    assert [s.get("file") for s in both.findall("devices/disk/source")] == ["/x/a.qcow2", "/x/s.iso"]


def test_libvirt_errors(tool):
    for args, words in ((["--topology", "1x4x1", TOP / "cfg/bng-veth.cfg"], "no port is a PCI device"),
                        (["--topology", "1x4x1", "--cpus", "1,2", VM], "2 CPUs to pin to, and 4 vCPUs"),
                        (["--topology", "1x4x1", "--nodes", "0,1", VM], "2 NUMA nodes, and 1 sockets")):
        r = tool.run("libvirt", *args)
        assert r.returncode == 1 and words in r.stderr and not r.stdout, r
    for args, words in ((["libvirt", "--cpus", "2-", VM], "expected a list"), (["json", "--cpus", "2", VM], "--cpus is for libvirt"),
                        (["k8s", "--seed", "x", VM], "--seed is for libvirt")):
        r = tool.run(*args)
        assert r.returncode == 2 and words in r.stderr, r


@pytest.mark.parametrize("topology", ["1x4x1", "2x4x2"])
def test_libvirt_by_its_own_schema(tool, folder, topology):
    need.program("xmllint", "libxml2-utils")
    validate = need.program("virt-xml-validate", "libvirt-clients")
    for config in (VM, NIC):
        path = folder / "domain.xml"
        path.write_text(tool.text("libvirt", "--topology", topology if config == VM else "2x10x2", "--seed", "/x/s.iso",
                                  *(["--nodes", "0-1"] if topology[0] == "2" or config == NIC else []), config))
        done = tool.run_program(validate, path, "domain")
        assert done.returncode == 0, done.stdout + done.stderr


def test_tables(tool):
    """The rules for siblings and the slots of cards, as people read them."""
    lines = tool.text("smt", NIC).splitlines()
    assert lines[0].split("  ")[0] == "core" and len(lines) == 1 + 10, lines
    rows = {re.split("  +", line)[-1]: re.split("  +", line) for line in lines}
    assert rows["classify"][:6] == ["0", "1", "0", "1", "0", "none"], rows
    assert rows["tx_core, tx_cpe"][5] == "3, 4, 5, 6, 9", rows
    assert rows["qos_down"][5] == "none; if it must, core 8", rows
    assert "note: cores 0 and " in tool.text("smt", TOP / "cfg/qos-minimal-fig9.cfg")
    lines = tool.text("pcie", NIC).splitlines()
    assert re.split("  +", lines[1]) == ["0000:05:00", "cpe0, core0", "31.50", "16", "8", "4", "2"], lines
    assert "more than 16" in tool.text("pcie", "--set", "ports.cpe0.line_rate=400G", NIC)
    assert "one of each on each card" in tool.text("pcie", *SWAPPED, NIC)
    assert tool.text("pcie", TOP / "cfg/bng-4port.cfg").startswith("no port is a PCI device\n")


@pytest.mark.parametrize("path", SOME)
def test_pictures(tool, path):
    """Graphviz draws each configuration without a complaint, and every port, instance and link is there."""
    plan = json.loads(tool.plan(path).stdout)
    done = tool.run_program(need.program("dot", "graphviz"), "-Tsvg", input=tool.text("dot", path))
    assert done.returncode == 0 and not done.stderr
    titles = re.findall("<title>(.*?)</title>", done.stdout)
    shown = re.findall("<text.*?>(.*?)</text>", done.stdout)
    assert sum(re.fullmatch(r"i\d+", t) is not None for t in titles) == len(plan["instances"])
    assert sum("cluster_core" in t for t in titles) == len(plan["cores"])
    missing = [i["instance"] for i in plan["instances"] if i["instance"] not in shown]
    missing += [f"{p['port']} {way}" for p in plan["ports"] for way in ("rx", "tx")
                if p[f"{way}_queues"] and f"{p['port']} {way}" not in shown]
    assert not missing
    links = sum(len(i["receives"]) + sum(len(o["destinations"]) for o in i["outputs"]) for i in plan["instances"])
    wires = sum("peer" in p and p["tx_queues"] > 0 for p in plan["ports"])
    assert links <= sum("&#45;&gt;" in t for t in titles) <= links + wires


@pytest.mark.parametrize("path", CONFIGURATIONS, ids=lambda path: path.stem)
def test_every_configuration(tool, path):
    """There is a description of it."""
    assert tool.json(path)


@pytest.mark.parametrize("path", SOME)
def test_every_configuration_for_an_orchestrator(tool, path):
    assert sol001.faults(tool.tosca(path)) == []
    tool.pod(path)
