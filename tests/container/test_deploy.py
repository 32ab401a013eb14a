# SPDX-License-Identifier: BSD-3-Clause
"""The examples of tools/deploy: the Pod asks for what its configurations need, the seed disk says what vbng describes."""

import os
import re
import shutil
import subprocess
import tempfile

from tests.common import need
from tests.common.verdict import judge, nothing
from vbnglab.describe import k8s
from vbnglab.describe.description import describe
from vbnglab.describe.source import read_plan
from vbnglab.vm import seed as seeds

yaml = need.module("yaml", "python3-yaml")

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(TOP, "tools", "deploy")
BROUGHT = {f"rte_{name}" for name in ("eal", "log", "mbuf", "mempool", "rcu", "ring", "telemetry")}  # packages of ethdev and lpm need theirs


def described(binary, config):
    plan, _ = read_plan(["--topology", "1x2x1", config], binary)
    return describe(plan)


def configuration(arguments):
    """The one of cfg/ that a container runs."""
    (path,) = (a for a in arguments if a.endswith(".cfg"))
    return os.path.join(TOP, "cfg", os.path.basename(path)), path


def wrong_pod(binary):
    with open(os.path.join(DEPLOY, "pod.yaml"), encoding="utf-8") as f:
        spec = yaml.safe_load(f)["spec"]
    volumes, wrong = {v["name"] for v in spec["volumes"]}, []
    for c in spec["containers"]:
        config, installed = configuration(c["args"])
        if not os.path.exists(config) or not installed.startswith("/usr/local/share/vbng/cfg/"):
            wrong.append(f"{c['name']}: {installed} is not in the image")
            continue
        need = yaml.safe_load(k8s.write(described(binary, config), "vbng"))["spec"]["containers"][0]["resources"]
        if c["resources"] != need:
            wrong.append(f"{c['name']} asks for {c['resources']}, its description for {need}")
        wrong += [f"{c['name']} mounts {m['name']}" for m in c["volumeMounts"] if m["name"] not in volumes]
    return wrong


def wrong_containerfile(binary):
    """What it copies is there, and it installs the libraries of this binary and the drivers of the seed disk."""
    with open(os.path.join(DEPLOY, "Containerfile"), encoding="utf-8") as f:
        text = f.read()
    copied = [m for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M) for m in line.split()]
    wrong = [f"{p} is not in the tree" for p in copied if not os.path.exists(os.path.join(TOP, p))]
    linked = seeds.packages(binary)
    versions = {name: next(re.sub(r".*?(\d+)$", r"\1", p) for p in linked if p.startswith(name)) for name in ("librte-eal", "libconfig")}
    text = text.replace("$abi", versions["librte-eal"]).replace("$libconfig", "libconfig" + versions["libconfig"])
    done = subprocess.run(["readelf", "-d", binary], capture_output=True, text=True, check=True)
    for name in re.findall(r"NEEDED.*\[lib(rte_\w+|config|jansson)\.so", done.stdout) + [f"rte_{name}" for name in seeds.DRIVERS]:
        package = next((p for p in linked if re.fullmatch(rf"lib{name.replace('_', '-')}-?\d+", p)), f"lib{name}")
        if name not in BROUGHT and not re.search(rf"\s{package}\s", text):
            wrong.append(f"{package} is not installed")
    return wrong + ([] if copied else ["it copies nothing"])


def wrong_user_data(binary):
    config = os.path.join(TOP, "cfg", "bng-vm.cfg")
    need = described(binary, config)
    text, wrong = seeds.user_data(config, need, seeds.packages(binary)), []
    data = yaml.safe_load(text)
    files = {f["path"]: f["content"] for f in data["write_files"]}
    if f"= {need['memory']['hugepages']['pages']}\n" not in files["/etc/sysctl.d/80-vbng.conf"]:
        wrong.append("huge pages are not those of the description")
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


def wrong_seed(binary, folder):
    if not shutil.which("xorriso"):
        return "xorriso is not installed (Debian package xorriso)"
    iso = os.path.join(folder, "seed.iso")
    seeds.make(os.path.join(TOP, "cfg", "bng-vm.cfg"), iso, "1x2x1", binary)
    subprocess.run(["xorriso", "-osirrox", "on", "-indev", iso, "-extract", "/", f"{folder}/disk"], check=True, capture_output=True)
    listed = subprocess.run(["tar", "tf", f"{folder}/disk/vbng.tar"], capture_output=True, text=True, check=True).stdout.split()
    wanted = {"usr/local/bin/vbng", "usr/local/bin/vbngctl", "etc/vbng/cfg/bng-vm.cfg", "etc/vbng/cfg/common/gateway.cfg",
              "etc/vbng/pkt_templates/cpe0.tmpl"}  # fmt: skip
    return sorted(wanted - set(listed)) + sorted({"user-data", "meta-data"} - set(os.listdir(f"{folder}/disk")))


def test_pod_asks_for_what_the_description_says(vbng):
    nothing(wrong_pod(vbng))


def test_containerfile(vbng):
    nothing(wrong_containerfile(vbng))


def test_user_data_for_cloud_init(vbng):
    nothing(wrong_user_data(vbng))


def test_seed_disk(vbng, folder):
    judge(wrong_seed(vbng, str(folder)))
