# SPDX-License-Identifier: BSD-3-Clause
"""The description as a Pod, with what it needs: a ConfigMap of the configuration, and a NetworkAttachmentDefinition for each
PCI interface.

Requests are equal to limits and CPUs are whole, so that its class of service is Guaranteed and the static CPU manager gives
it CPUs of its own; huge pages are a resource and a volume; each PCI interface is a device of the plugin and a network of
Multus. The control socket answers the probes.
"""

import json
import os
import re

from .ports import PCI, VDEV, VHOST
from .yaml_text import MIB, block, huge_bytes, mebibytes, quoted

NAME_MAX = 63  # RFC 1123 section 2.1: of a label
RESOURCE = "example.com/dpdk_nic"  # under which a device plugin may offer the NICs
CONFIG_MOST = 1 << 20  # bytes of a ConfigMap
CONTROL, WORK = "/run/vbng.control", "/run/vbng"
INCLUDE = re.compile(r'^[ \t]*@include[ \t]+"([^"]+)"[ \t]*\n?', re.M)
COMMENT = re.compile(r"(?:#|//).*")
TABLE = re.compile(r'\bcsv\s*=\s*"([^"]+)"')
CAPABILITIES = {"net_af_packet": ("NET_ADMIN", "NET_RAW"), "net_af_xdp": ("NET_ADMIN", "NET_RAW", "BPF"), "net_tap": ("NET_ADMIN",)}
PAGE_NAME = {2 * MIB: "2Mi", 1024 * MIB: "1Gi"}

POD = """\
# The node: kubelet with cpuManagerPolicy static (full-pcpus-only), memoryManagerPolicy
# Static and topologyManagerPolicy single-numa-node, so that CPUs, huge pages and NICs are
# of one socket. The layout names the Pod's CPUs c0, c1, ... and their siblings c0h, c1h, ...: doc/describe.md.
{comments}\
apiVersion: v1
kind: Pod
metadata:
  name: "{name}"
{annotations}\
spec:
  restartPolicy: Always
  containers:
    - name: vbng
      image: {image}
      command: ["vbng", "--quiet", "--control", "{control}", "/etc/vbng/vbng.cfg"]
      startupProbe:
        exec:
          command: ["vbngctl", "--socket", "{control}", "show", "version"]
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        exec:
          command: ["vbngctl", "--socket", "{control}", "show", "version"]
        periodSeconds: 20
        timeoutSeconds: 10
        failureThreshold: 3
      securityContext:
        capabilities:
          add: {capabilities}
      resources:
{resources}\
      volumeMounts:
        - name: config
          mountPath: /etc/vbng
{mounts}\
  volumes:
    - name: config
      configMap:
        name: "{name}"
{volumes}"""
MOUNT = """\
        - name: hugepages
          mountPath: /dev/hugepages
"""
SOCKETS_MOUNT = """\
        - name: sockets-{number}
          mountPath: {folder}
"""
SOCKETS_VOLUME = """\
    - name: sockets-{number}
      hostPath:
        path: {folder}
        type: DirectoryOrCreate
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: "{name}"
data:
{data}"""
NETWORK = """\
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: "{name}"
  annotations:
    k8s.v1.cni.cncf.io/resourceName: {resource}
spec:
  config: {config}
"""
VOLUME = """\
    - name: hugepages
      emptyDir:
        medium: HugePages-{page}
"""


def label(name):
    """A name of the configuration as Kubernetes takes it: lower case, '-' for each other byte."""
    fitting = re.sub(rb"[^a-z0-9]", b"-", name.encode().lower()).lstrip(b"-")
    return fitting[:NAME_MAX].rstrip(b"-").decode() or "vbng"


def _argument(device, *keys):
    """Value of an argument of a device string; None if it has none of these."""
    return next((v for k, _, v in (word.partition("=") for word in device.split(",")) if k in keys), None)


def _folders(d):
    """Folders of sockets that interfaces have in common with others, in the container and on the node."""
    paths = [_argument(i["device"], "path", "socket") or (_argument(i["device"], "iface") if i["device"].startswith("net_vhost") else None)
             for i in d["interfaces"] if i["kind"] in (VHOST, VDEV)]  # fmt: skip
    return sorted({os.path.join(WORK, os.path.dirname(p)).rstrip("/") for p in paths if p and not p.startswith("/dev/")})


def _capabilities(d):
    found = ["IPC_LOCK"]
    for i in d["interfaces"]:
        found += [c for driver, needs in CAPABILITIES.items() if i["device"].startswith(driver) for c in needs if c not in found]
    return json.dumps(found)


def _comments(d):
    found = [f"Interface {i['name']} is {i['device']}: a network of the Pod must have this interface." for i in d["interfaces"]
             if i["kind"] == VDEV and i["device"].startswith(("net_af_packet", "net_af_xdp"))]  # fmt: skip
    found += [f"Volume {folder}: what makes or takes the sockets there is on the same node." for folder in _folders(d)]
    return "".join(f"# {text}\n" for text in found + [f"note: {note}" for note in d["notes"]])


def _annotations(pci):
    """The networks of Multus are called like the ports."""
    if not pci:
        return ""
    networks = ", ".join(f'{{"name": "{label(i["name"])}"}}' for i in pci)
    return f"  annotations:\n    k8s.v1.cni.cncf.io/networks: '[{networks}]'\n"


def _resources(d, pci, resource):
    memory = d["memory"]
    lines = [f'cpu: "{d["cpus"]["vcpus_of_whole_cores"]}"', f'memory: "{mebibytes(memory["ordinary_bytes"])}Mi"']
    if memory["hugepages"]:
        lines.append(f'hugepages-{PAGE_NAME[memory["hugepages"]["page_bytes"]]}: "{huge_bytes(memory) // MIB}Mi"')
    if pci:
        lines.append(f'{quoted(resource)}: "{len(pci)}"')
    listed = "".join(f"          {line}\n" for line in lines)
    return f"        requests:\n{listed}        limits:\n{listed}"


def write(d, image, resource=RESOURCE):
    """YAML text of a description. image: of the container; resource: what the device plugin calls the NICs."""
    pci, huge = [i for i in d["interfaces"] if i["kind"] == PCI], d["memory"]["hugepages"]
    sockets = list(enumerate(_folders(d)))
    return POD.format(
        comments=_comments(d), name=label(d["name"]), annotations=_annotations(pci), image=quoted(image), control=CONTROL,
        capabilities=_capabilities(d), resources=_resources(d, pci, resource),
        mounts=(MOUNT if huge else "") + "".join(SOCKETS_MOUNT.format(number=n, folder=quoted(f)) for n, f in sockets),
        volumes=(VOLUME.format(page=PAGE_NAME[huge["page_bytes"]]) if huge else "")
        + "".join(SOCKETS_VOLUME.format(number=n, folder=quoted(f)) for n, f in sockets))  # fmt: skip


def merged(path, folder=None):
    """Return (text of a configuration with what it includes, {path of a table as it is named: its file}). Includes count from the folder of
    the configuration, tables from that of the file that names them. Raises OSError."""
    folder = os.path.dirname(path) if folder is None else folder
    with open(path, encoding="utf-8") as f:
        text = f.read()
    tables = {name: os.path.join(os.path.dirname(path), name) for name in TABLE.findall(COMMENT.sub("", text))}

    def content(include):
        inner, more = merged(os.path.join(folder, include[1]), folder)
        tables.update(more)
        return inner.rstrip("\n") + "\n"

    return INCLUDE.sub(content, text), tables


def config_map(d, path):
    """YAML text of the ConfigMap: the configuration, and the tables of subscribers beside it, as far as a ConfigMap holds them. What it
    does not hold is named in a comment. Raises OSError."""
    text, tables = merged(path)
    files, missing, room = {"vbng.cfg": text}, [], CONFIG_MOST - len(text.encode())
    for name, source in tables.items():
        size = os.path.getsize(source)
        if os.path.basename(name) != name or size > room:
            missing.append(name)
            continue
        room -= size
        with open(source, encoding="utf-8") as f:
            files[name] = f.read()
    head = "".join(f"# {name} is too large for a ConfigMap, or in another folder: bring it to /etc/vbng by a volume.\n" for name in missing)
    return head + CONFIG_MAP.format(name=label(d["name"]), data="".join(f"  {name}: {block(text, 4)}" for name, text in files.items()))


def networks(d, resource=RESOURCE):
    """YAML texts of the networks of Multus, one for each PCI interface; an access port's frames have tags and MAC addresses of others."""
    found = []
    for i in d["interfaces"]:
        if i["kind"] == PCI:
            config = {"cniVersion": "1.0.0", "type": "sriov", "name": label(i["name"]), "vlan": 0, "spoofchk": "off", "trust": "on"}
            found.append(NETWORK.format(name=label(i["name"]), resource=quoted(resource), config=quoted(json.dumps(config))))
    return found


def manifest(d, path, image, resource=RESOURCE):
    """YAML text of all: the ConfigMap of the configuration at a path, the networks, the Pod. Raises OSError."""
    return "---\n".join([config_map(d, path), *networks(d, resource), write(d, image, resource)])
