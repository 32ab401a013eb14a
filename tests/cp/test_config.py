# SPDX-License-Identifier: BSD-3-Clause
"""vbng-cp --check: what it refuses, with file and line (config/suite.py has the format), and its command line."""

import pathlib

import pytest

from tests.config import suite
from tests.config.test_check import judge

BAD = pathlib.Path(__file__).parent / "bad"
CASES = [case for path in sorted(BAD.glob("*.suite")) for case in suite.read(path)]
MOST = """control_socket = "/run/vbng/control.sock"; punt_socket = "/run/vbng/punt.sock"; store = "/x";
pools = ( { name = "a"; prefix = "10.0.0.0/24"; gateway = "10.0.0.1"; dns = "192.0.2.53"; first = "10.0.0.9"; last = "10.0.0.9"; },
          { name = "b"; prefix = "10.0.1.0/30"; gateway = "10.0.1.2"; } );
access = ( { port = "p"; svlan = 7; cvlan = "1-9"; pool = "a"; }, { port = "p"; svlan = 7; cvlan = "10-19"; pool = "b"; },
           { port = "q"; pool = "b"; pool6 = "c"; profile = "home"; }, { port = "r"; pool6 = "d"; } );
pools6 = ( { name = "c"; wan = "2001:db8::/40"; delegated = "2001:db8:8000::/40"; delegated_len = 64; dns = "2001:db8::53"; domain = "a.b"; },
           { name = "d"; delegated = "2001:db8:9000::/56"; lease_time = "1s"; } );
"""


@pytest.fixture
def vbng_cp(build):
    from tests.cp.client import program  # needs Scapy

    return program(build)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refused(vbng_cp, case, folder, run):
    case.write(folder)
    result = run(vbng_cp, "--check", case.config, cwd=folder)
    assert judge(case, result.returncode, result.stderr) == []


def test_accepted(vbng_cp, folder, run):
    (folder / "x.cfg").write_text(MOST)
    result = run(vbng_cp, "--check", folder / "x.cfg")
    assert (result.returncode, result.stderr) == (0, "")


def test_the_example_of_radius_is_right(vbng_cp, folder, run, top):
    example = (top / "doc/radius.md").read_text(encoding="utf-8").split("```\n")[1]
    assert example.startswith("radius = {")
    (folder / "x.cfg").write_text(MOST + example)
    assert run(vbng_cp, "--check", folder / "x.cfg").stderr == ""


def test_the_example_of_pppoe_is_right(vbng_cp, folder, run, top):
    example = (top / "doc/ppp.md").read_text(encoding="utf-8").split("```\n")[1]
    assert example.startswith("pppoe = {")
    (folder / "x.cfg").write_text(MOST + example)
    assert run(vbng_cp, "--check", folder / "x.cfg").stderr == ""


def test_the_example_of_relays_is_right(vbng_cp, folder, run, top):
    blocks = (top / "doc/relay.md").read_text(encoding="utf-8").split("```\n")
    example, proxy, six, proxy6 = [b for b in blocks if b.startswith("relays = (")]
    for relays in (proxy, proxy6):
        (folder / "z.cfg").write_text(MOST + relays)
        assert run(vbng_cp, "--check", folder / "z.cfg").stderr == ""
    (folder / "y.cfg").write_text(MOST.split("pools = (", maxsplit=1)[0] + six + 'access = ( { port = "q"; pool6 = "homes6"; } );')
    assert run(vbng_cp, "--check", folder / "y.cfg").stderr == ""
    (folder / "x.cfg").write_text(MOST.split("pools = (", maxsplit=1)[0] + example + 'access = ( { port = "q"; pool = "homes"; } );')
    assert run(vbng_cp, "--check", folder / "x.cfg").stderr == ""


def test_the_example_is_right(vbng_cp, folder, run, top):
    example = (top / "doc/sessions.md").read_text(encoding="utf-8").split("```\n")[3]
    assert example.startswith("control_socket")
    (folder / "x.cfg").write_text(example)
    assert run(vbng_cp, "--check", folder / "x.cfg").returncode == 0


@pytest.mark.parametrize("arguments, status, says", [
    (["--help"], 0, "usage: vbng-cp"), (["--version"], 0, "vbng-cp "), ([], 2, "usage: vbng-cp"), (["a", "b"], 2, "usage: vbng-cp"),
    (["--chick", "a"], 2, "unrecognized option"), (["--check", "/nowhere"], 1, "/nowhere: error: cannot be read"),
])
def test_command_line(vbng_cp, run, arguments, status, says):
    result = run(vbng_cp, *arguments)
    assert result.returncode == status and says in result.stdout + result.stderr


def test_it_is_free_of_dpdk(vbng_cp, run):
    assert "librte" not in run("ldd", vbng_cp).stdout
