# SPDX-License-Identifier: BSD-3-Clause
"""Completion in bash, and manual pages, of the programs as they are."""

import os
import pathlib
import re

import pytest

from tests.common import need

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
# Completes the last of the words behind the file that defines the completion, and prints what is offered, a line each.
COMPLETE = """source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
[[ $(complete -p "$1") =~ -F\\ ([^ ]+) ]] && "${BASH_REMATCH[1]}" "$1" "${COMP_WORDS[COMP_CWORD]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def complete(build, run, folder):
    """A function: what bash offers for the last of these words."""
    (folder / "x.cfg").touch()
    (folder / "sub").mkdir()

    def offered(*words):
        done = run("bash", "-c", COMPLETE, "bash", build / "tools" / "cli" / words[0], *words, cwd=folder)
        assert done.stderr == "", done.stderr
        return set(done.stdout.split())

    return offered


@pytest.mark.parametrize("words, offered", [
    ("vbng-lab sw", {"sweep", "switch"}),
    ("vbng-lab switch ", {"list", "run", "row", "compare", "show", "render"}),
    ("vbng-lab measure --lat", {"--latency-trials"}),
    ("vbng-lab measure --direction ", {"up", "down", "both"}),
    ("vbng-lab vm run --hugepage ", {"2M", "1G"}),
    ("vbng-lab describe ", {"json", "tosca", "sol006", "k8s", "libvirt", "pcie", "smt", "dot"}),
    ("vbng-lab sweep x", {"x.cfg"}),
    ("vbng-lab sweep --out s", {"sub"}),
    ("vbngctl set-", {"set-profile", "set-profiles", "set-mac", "set-rate", "set-dscp", "set-subport-rate", "set-name"}),
    ("vbngctl show su", {"subscriber", "subscribers"}),
    ("vbngctl set-subport-rate s x ", {"up", "down"}),
    ("vbng --lay", {"--layout"}),
    ("vbng --layout x", {"x.cfg"}),
    ("vbng --control-", {"--control-group", "--control-mode"}),
    ("vbng --check x", {"x.cfg"}),
    ("vbng --help gre", {"gre_decap", "gre_encap"}),
    ("vbng --help drop", {"drops"}),
    ("vbng --help queue_f", {"queue_full"}),
])  # fmt: skip
def test_completion(words, offered, complete):
    assert complete(*words.split(" ")) == offered


def test_completion_knows_all_options(vbng, run, complete):
    """Each option of vbng --help is offered."""
    options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", run(vbng, "--help").stdout.split("exit status")[0]))
    assert complete("vbng", "--") == options


@pytest.mark.parametrize("program", ["vbng-lab", "vbngctl"])
def test_manual(program, run):
    """The page in doc is what the program's help texts make now."""
    done = run(TOP / "tools" / "cli" / "manual", program, env={**os.environ, "PYTHONPATH": str(TOP / "tools")})
    page = TOP / "doc" / f"{program}.1"
    assert done.stdout == page.read_text(), f"make it again: PYTHONPATH=tools tools/cli/manual {program} >doc/{program}.1"


@pytest.mark.parametrize("page", sorted((TOP / "doc").glob("*.[1-9]")), ids=lambda p: p.name)
def test_manual_is_correct(page, run):
    """The formatter has nothing to complain of."""
    done = run(need.program("groff"), "-mdoc", "-Tutf8", "-ww", page)
    assert done.returncode == 0 and done.stderr == "" and len(done.stdout) > 1000
