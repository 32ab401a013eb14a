# SPDX-License-Identifier: BSD-3-Clause
"""Warnings of what is allowed and seldom meant, and command lines that are wrong: each says what to do."""

import os
import re
import subprocess
import sys

import pytest

from tests.common.limits import limit
from tests.control.test_first_day import CONFIG

GATEWAY = CONFIG.replace("BACKEND", "wheel")
NO_PUNT = GATEWAY.replace('punt = "arp"; }', "}")
NAMES = ("mpls_down", "gre_down", "encap", "qos_down")


def upstream_only():
    """The gateway without its tasks downstream."""
    lines = [line for line in GATEWAY.splitlines() if not any(f'name = "{name}"' in line for name in NAMES)]
    return re.sub("|".join(rf'"{name}",\s*' for name in NAMES), "", "\n".join(lines))


def line_of(text, what):
    return next(i for i, line in enumerate(text.splitlines(), 1) if what in line)


VIA = GATEWAY.replace('mac = "02:dd:00:00:00:00"; gre', 'via = "192.0.9.9"; gre')
VIA6 = GATEWAY.replace('mac = "02:dd:00:00:00:00"; gre', 'via = "2001:db8:9::9"; gre').replace('"192.0.2.1"', '["192.0.2.1", "2001:db8:2::1"]')
DUAL = GATEWAY.replace('ipv4 = "10.0.0.0/30";', 'ipv4 = "10.0.0.0/30"; ipv6 = "2001:db8:1::/48";')
NO_ROUTE = "\n".join("" if line.startswith("routes") else line for line in GATEWAY.splitlines())
WARNINGS = {
    "no-punt-for-subscribers": (NO_PUNT, "subscribers = (", "no punt leads to a task of type arp, so that this subscriber's MAC is never learned"),
    "no-punt-for-a-via": (NO_PUNT.replace('mac = "02:dd:00:00:00:00"; gre', 'via = "192.0.2.2"; gre'), "routes = (",
                          "no punt leads to a task of type arp, so that the MAC of this route's via is never learned"),
    "no-route": (NO_ROUTE, 'type = "route"', "task 'route' has no route to choose from: it drops all, until one is added"),
    "via-off-the-link": (VIA, "routes = (", "key 'via': value '192.0.9.9': shares no /24 with an address of port 'core0' (192.0.2.1, ...)"),
    "via-off-the-link-of-ipv6": (VIA6, "routes = (", "key 'via': value '2001:db8:9::9': shares no /64 with an address of port 'core0' "
                                 "(2001:db8:2::1, ...)"),
    "nothing-to-tell-from": (DUAL, "subscribers = (", "this subscriber has IPv6, and no port has an address of it: the core and hosts behind CPEs "
                             "are told nothing by ICMPv6, so that path MTU discovery fails: give a port one (addresses)"),
    "nobody-reads": (upstream_only(), 'name = "core0"', "port 'core0': routes leave by it, and no task reads it: what comes back"),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_warning(vbng, run, folder, name):
    """--check passes, with this warning at this line; the same gateway as it was meant has none of these."""
    text, at, words = WARNINGS[name]
    path = os.path.join(folder, "t.cfg")
    with open(path, "w") as f:
        f.write(text)
    answer = run(vbng, "--check", path)
    assert answer.returncode == 0, answer.stderr
    assert f"{path}:{line_of(text, at)}: warning: {words}" in answer.stderr, answer.stderr


@pytest.mark.parametrize("text", [GATEWAY, DUAL.replace('"192.0.2.1"', '["192.0.2.1", "2001:db8:2::1"]'),
                                  VIA6.replace("2001:db8:9::9", "fe80::9"), VIA6.replace("2001:db8:9::9", "2001:db8:2::9")])
def test_no_warning(vbng, run, folder, text):
    path = os.path.join(folder, "t.cfg")
    with open(path, "w") as f:
        f.write(text)
    answer = run(vbng, "--check", path)
    for words in ("no punt", "no route", "shares no", "no task reads it", "no port has"):
        assert words not in answer.stderr


@pytest.mark.parametrize("text, line, sign", [
    ('ports = (\n  { name = "a"; },\n  { name = "b"; },\n);\n', 3, ")"),
    ('tasks = ( { name = "a"; to = ["b", "c",]; } );\n', 1, "]"),
], ids=["list", "array"])
def test_a_trailing_comma(vbng, run, folder, text, line, sign):
    """An error with the remedy, unless libconfig allows it, as it does from 1.7 on."""
    path = os.path.join(folder, "t.cfg")
    with open(path, "w") as f:
        f.write(text)
    answer = run(vbng, "--check", path)
    if "syntax error" not in answer.stderr:
        pytest.skip("this libconfig allows a comma at the end of a list")
    assert f"t.cfg:{line}: error: syntax error: nothing follows the last ',' before '{sign}': remove the comma" in answer.stderr


@pytest.mark.parametrize("arguments, words", [
    (("a.cfg", "b.cfg"), "two configurations, 'a.cfg' and 'b.cfg': expected one"),
    ((), "which configuration? expected vbng [options] FILE"),
    (("--chek", "a.cfg"), "vbng --help lists all options"),
], ids=["two", "none", "unknown-option"])
def test_wrong_command_line(vbng, run, arguments, words):
    """A line or two, and not the whole help."""
    answer = run(vbng, *arguments)
    assert answer.returncode == 2 and words in answer.stderr and len(answer.stderr.splitlines()) <= 2, answer.stderr


def test_vbngctl_and_a_wrong_socket(top, folder):
    path = os.path.join(folder, "nobody.sock")
    done = subprocess.run([sys.executable, top / "tools/vbngctl", "--socket", path, "show", "ledger"], capture_output=True, text=True,
                          timeout=limit(30))
    assert done.returncode == 1 and f"cannot connect to {path}: No such file or directory" in done.stderr and "--control" in done.stderr


@pytest.mark.parametrize("frame, port", [("access 100.7 10.0.0.6 -> 198.18.0.1", "core"), ("core gre 1219 198.18.0.1 -> 10.0.2.19", "access")])
def test_the_first_example_forwards(vbng, run, top, folder, frame, port):
    """cfg/bng-2port.cfg, with neighbours whose MACs are known, sends packets of its first and last tier; it fits on a page."""
    text = (top / "cfg/bng-2port.cfg").read_text()
    assert len(text.splitlines()) <= 60
    path = os.path.join(folder, "t.cfg")
    with open(path, "w") as f:
        f.write(text.replace('via = "192.0.2.2"', 'mac = "02:dd:00:00:00:01"').replace("gre_key =", 'mac = "02:c0:00:00:00:00"; gre_key ='))
    answer = run(vbng, "--explain", frame, path)
    assert answer.returncode == 0 and f"result: sent by {port}" in answer.stdout, answer.stdout + answer.stderr
