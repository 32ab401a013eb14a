# SPDX-License-Identifier: BSD-3-Clause
"""The description as a Pod.

Requests are equal to limits and CPUs are whole, so that its class of service is Guaranteed and the static CPU manager gives
it CPUs of its own; huge pages are a resource and a volume; each PCI interface is a device of the plugin and a network of
Multus.
"""

import re

from .ports import PCI, VDEV, VHOST
from .yaml_text import MIB, huge_bytes, mebibytes, quoted

NAME_MAX = 63  # RFC 1123 section 2.1: of a label
RESOURCE = "example.com/dpdk_nic"  # under which a device plugin may offer the NICs
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
      command: ["vbng", "--quiet", "/etc/vbng/vbng.cfg"]
      securityContext:
        capabilities:
          add: ["IPC_LOCK"]
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
VOLUME = """\
    - name: hugepages
      emptyDir:
        medium: HugePages-{page}
"""


def label(name):
    """A name of the configuration as Kubernetes takes it: lower case, '-' for each other byte."""
    fitting = re.sub(rb"[^a-z0-9]", b"-", name.encode().lower()).lstrip(b"-")
    return fitting[:NAME_MAX].rstrip(b"-").decode() or "vbng"


def _comments(d):
    found = [f"Interface {i['name']} is a vdev: mount what its device string names." for i in d["interfaces"]
             if i["kind"] in (VHOST, VDEV)]  # fmt: skip
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
    return POD.format(
        comments=_comments(d), name=label(d["name"]), annotations=_annotations(pci), image=quoted(image),
        resources=_resources(d, pci, resource), mounts=MOUNT if huge else "",
        volumes=VOLUME.format(page=PAGE_NAME[huge["page_bytes"]]) if huge else "")  # fmt: skip
