#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples of tools/deploy: the Pod asks for what its configurations need, the seed disk says what vbng describes.

usage: deploy.py BINARY
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(TOP, "tools", "deploy")
sys.path[:0] = [os.path.join(TOP, "tools"), os.path.join(TOP, "tests", "pcap")]

from tally import Tally  # noqa: E402
from vbnglab import vm_seed  # noqa: E402

try:
    import yaml
except ImportError:
    print("SKIP all: YAML cannot be read (Debian package python3-yaml)\n0 passed, 0 failed, 1 skipped")
    sys.exit(77)


def described(binary, form, config):
    done = subprocess.run([binary, f"--describe={form}", "--topology", "1x2x1", config], capture_output=True, text=True, check=True)
    return done.stdout


def configuration(arguments):
    """The one of cfg/ that a container runs."""
    (path,) = (a for a in arguments if a.endswith(".cfg"))
    return os.path.join(TOP, "cfg", os.path.basename(path)), path


def pod(binary):
    with open(os.path.join(DEPLOY, "pod.yaml"), encoding="utf-8") as f:
        spec = yaml.safe_load(f)["spec"]
    volumes, wrong = {v["name"] for v in spec["volumes"]}, []
    for c in spec["containers"]:
        config, installed = configuration(c["args"])
        if not os.path.exists(config) or not installed.startswith("/usr/local/share/vbng/cfg/"):
            wrong.append(f"{c['name']}: {installed} is not in the image")
            continue
        need = yaml.safe_load(described(binary, "k8s", config))["spec"]["containers"][0]["resources"]
        if c["resources"] != need:
            wrong.append(f"{c['name']} asks for {c['resources']}, vbng --describe for {need}")
        wrong += [f"{c['name']} mounts {m['name']}" for m in c["volumeMounts"] if m["name"] not in volumes]
    return wrong


def containerfile():
    """What it copies is there, and what it installs is what the seed disk installs, and more."""
    with open(os.path.join(DEPLOY, "Containerfile"), encoding="utf-8") as f:
        text = f.read()
    copied = [m for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M) for m in line.split()]
    wrong = [f"{p} is not in the tree" for p in copied if not os.path.exists(os.path.join(TOP, p))]
    wrong += [f"{p} is not installed" for p in vm_seed.PACKAGES if not re.search(rf"\s{p}\s", text)]
    return wrong + ([] if copied else ["it copies nothing"])


def user_data(binary):
    config = os.path.join(TOP, "cfg", "bng-vm.cfg")
    need = json.loads(described(binary, "json", config))
    text, wrong = vm_seed.user_data(config, need), []
    data = yaml.safe_load(text)
    files = {f["path"]: f["content"] for f in data["write_files"]}
    if f"= {need['memory']['hugepages']['pages']}\n" not in files["/etc/sysctl.d/80-vbng.conf"]:
        wrong.append("huge pages are not those of vbng --describe")
    if "in 0000:00:10.0 0000:00:11.0 0000:00:12.0 0000:00:13.0; do" not in files["/usr/local/sbin/vbng-bind-ports"]:
        wrong.append("ports are not those of the configuration")
    if " /etc/vbng/cfg/bng-vm.cfg\n" not in files["/etc/systemd/system/vbng.service"]:
        wrong.append("the service runs another configuration")
    script = subprocess.run(["sh", "-n"], input=files["/usr/local/sbin/vbng-bind-ports"], text=True, capture_output=True)
    return wrong + [script.stderr] * (script.returncode != 0) + schema(text)


def schema(text):
    """What cloud-init itself says of it, where it is installed."""
    if shutil.which("cloud-init") is None:
        return []
    with tempfile.NamedTemporaryFile("w", prefix="vbng-user-data-") as f:
        f.write(text)
        f.flush()
        done = subprocess.run(["cloud-init", "schema", "--config-file", f.name], capture_output=True, text=True)
    return [] if done.returncode == 0 else [done.stdout + done.stderr]


def seed(binary, folder):
    if not shutil.which("xorriso"):
        return "xorriso is not installed"
    iso = os.path.join(folder, "seed.iso")
    vm_seed.make(os.path.join(TOP, "cfg", "bng-vm.cfg"), iso, "1x2x1", binary)
    subprocess.run(["xorriso", "-osirrox", "on", "-indev", iso, "-extract", "/", f"{folder}/disk"], check=True, capture_output=True)
    listed = subprocess.run(["tar", "tf", f"{folder}/disk/vbng.tar"], capture_output=True, text=True, check=True).stdout.split()
    wanted = {"usr/local/bin/vbng", "usr/local/bin/vbngctl", "etc/vbng/cfg/bng-vm.cfg", "etc/vbng/cfg/common/gateway.cfg",
              "etc/vbng/pkt_templates/cpe0.tmpl"}  # fmt: skip
    return sorted(wanted - set(listed)) + sorted({"user-data", "meta-data"} - set(os.listdir(f"{folder}/disk")))


def main(binary):
    tally, binary = Tally(), os.path.abspath(binary)
    tally.result("the Pod asks for what vbng --describe says", pod(binary))
    tally.result("the Containerfile", containerfile())
    tally.result("user-data for cloud-init", user_data(binary))
    with tempfile.TemporaryDirectory(prefix="vbng-seed-") as folder:
        wrong = seed(binary, folder)
        if isinstance(wrong, str):
            tally.skip("the seed disk", wrong)
        else:
            tally.result("the seed disk", wrong)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
