# SPDX-License-Identifier: BSD-3-Clause
"""meson install into a folder: what is there runs, without the sources."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from tests.common import need

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
LAB = pathlib.Path("share/vbng/lab")


@pytest.fixture(scope="module")
def installed(build, module_folder):
    """The prefix below a DESTDIR, from a build folder whose programs have run."""
    if (package := build / "tools" / "python" / "MLRsearch").is_dir():
        (package / "__pycache__").mkdir(exist_ok=True)
    done = subprocess.run([need.program("meson"), "install", "-C", build, "--no-rebuild", "--quiet"], capture_output=True, text=True,
                          env={**os.environ, "DESTDIR": str(module_folder)}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(module_folder.glob("**/bin/vbng-lab")).parent.parent


@pytest.fixture
def lab(installed, run, folder):
    """A function: run the installed vbng-lab, somewhere else."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VBNG")}
    environment["PATH"] = f"{installed / 'bin'}:{environment['PATH']}"
    return lambda *words: run(installed / "bin" / "vbng-lab", *words, cwd=folder, env=environment)


def test_files(installed):
    for name in ("bin/vbng", "bin/vbngctl", "share/vbng/ctl/vbngcontrol/schema/show-ports.json", "bin/vbng-lab", LAB / "vbnglab/cli.py", LAB / "vbnglab/vm/init.sh", LAB / "vbnglab/web/page/app.js",
                 LAB / "deploy/user-data", LAB / "cpuid", "share/vbng/cfg/bng-4port.cfg", "share/vbng/monitoring/vbng.rules.yml",
                 "share/vbng/monitoring/prometheus.yml", "share/vbng/monitoring/grafana-vbng.json", "share/man/man1/vbng-lab.1",
                 "share/man/man1/vbngctl.1", *(f"share/bash-completion/completions/{p}" for p in ("vbng", "vbngctl", "vbng-lab"))):
        assert (installed / name).exists(), name
    for name in ("vbng-top", "vbng-web", "vbng-exporter"):
        assert (installed / "bin" / name).exists() and (installed / "share/man/man1" / f"{name}.1").exists(), name
    assert not list(installed.glob("**/__pycache__"))
    assert os.access(installed / LAB / "cpuid", os.X_OK)


def test_documents(installed):
    """Each document of the sources is there, and the files that its links name."""
    docs = installed / "share/doc/vbng"
    for source in (TOP / "doc").rglob("*.md"):
        path = docs / source.relative_to(TOP / "doc")
        for link in re.findall(r"\]\((?!https?:|#|\.\./)([^)#]+)", path.read_text()):
            assert (path.parent / link).exists(), (path, link)
    assert (docs / "README.md").exists() and (docs / "examples/bng-4port.cfg").exists()


def test_examples_include_nothing(installed, run, vbng, folder):
    """One alone is accepted elsewhere, with the packet templates of the installation."""
    (folder / "cfg").mkdir()
    shutil.copytree(installed / "share/vbng/pkt_templates", folder / "pkt_templates")
    for name in ("bng-4port.cfg", "bng-qos-4port.cfg", "bng-veth.cfg"):
        shutil.copy(installed / "share/vbng/cfg" / name, folder / "cfg")
        done = run(vbng, "--check", "--share-cpus", folder / "cfg" / name)
        assert done.returncode == 0, done.stderr
    assert not [c for c in (installed / "share/vbng/cfg").glob("*.cfg") if re.search(r"^\s*@include", c.read_text(), re.M)]


def test_units(installed):
    """They start what is installed with them."""
    for name in ("vbng.service", "vbng-exporter.service", *(["vbng-cp.service"] if (installed / "bin/vbng-cp").exists() else [])):
        text = (installed / "lib/systemd/system" / name).read_text()
        for path in re.findall(r"^Exec\w+=(\S+)", text, re.M):
            assert str(installed / "bin" / os.path.basename(path)).endswith(path), path
            assert os.access(installed / "bin" / os.path.basename(path), os.X_OK), path


def test_links_stay_below_the_prefix(installed):
    for link in (installed / "bin/vbng-lab", installed / LAB / "cpuid"):
        assert not os.path.isabs(os.readlink(link)) and installed in link.resolve().parents


def test_package_is_whole(installed):
    """Each file of the package in the sources is installed."""
    sources = {p.relative_to(TOP / "tools") for p in (TOP / "tools/vbnglab").rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert sources == {p.relative_to(installed / LAB) for p in (installed / LAB / "vbnglab").rglob("*") if p.is_file()}


def test_describe(lab, installed):
    done = lab("describe", "json", installed / "share/vbng/cfg/bng-4port.cfg")
    assert done.returncode == 0 and json.loads(done.stdout)["cpus"], done.stderr


def test_size(lab):
    done = lab("size", "1000")
    assert done.returncode == 0 and "huge pages" in done.stdout, done.stderr


def test_own_configurations_are_found(lab):
    """The configuration of an experiment is the installed one."""
    done = lab("experiment", "fig6", "--topology", "2x10x2")
    assert done.returncode == 0, done.stderr


def test_switch_show(lab):
    done = lab("switch", "show", "bng", "--switch", "vpp")
    assert done.returncode == 0 and "create vhost" in done.stdout, done.stderr


def test_measure_has_its_package(lab, installed):
    """MLRsearch is found: what is missed is the configuration."""
    done = lab("measure", "none.cfg")
    assert done.returncode == 1 and "none.cfg" in done.stderr and "MLRsearch" not in done.stderr, done.stderr


def test_pip(run, folder):
    """pip makes the package, with its command and the files that are no modules."""
    need.program("pip3", "python3-pip")
    need.module("setuptools", "python3-setuptools")
    shutil.copytree(TOP / "tools", folder / "tools", ignore=shutil.ignore_patterns("__pycache__"), symlinks=True)
    done = run("/usr/bin/python3", "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", folder / "site",
               folder / "tools", env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PIP_FIND_LINKS": ""})
    assert done.returncode == 0, done.stderr
    for name in ("bin/vbng-lab", "vbnglab/cli.py", "vbnglab/vm/init.sh", "vbnglab/web/page/index.html", "vbnglab/size/costs.json", "vbnglab/switches/adapters/vpp.py"):
        assert (folder / "site" / name).exists(), name
    done = run(folder / "site/bin/vbng-lab", "doctor", "--help", env={**os.environ, "PYTHONPATH": str(folder / "site")}, cwd=folder)
    assert done.stdout.startswith("usage: vbng-lab doctor"), done.stderr
