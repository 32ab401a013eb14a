# SPDX-License-Identifier: BSD-3-Clause
"""vbngctl at a running vbng: tables, JSON by its schemas, the search, the shell in a terminal, and captures to standard output."""

import argparse
import json
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import time

import pytest

from tests.common import need
from tests.common.limits import limit
from tests.control import load
from tests.control.test_clients import ask_others
from vbngcontrol import schema as schemas
from vbngcontrol import show

jsonschema = need.module("jsonschema", "python3-jsonschema")

BAKERY = 'Bäckerei "Krümel", Hof <b>'


@pytest.fixture(scope="module")
def gateway(vbng, module_folder):
    """One for all; its first subscriber has a name, and the access port an address of IPv6."""
    options = ["--set", "max_subscribers=16390", "--set", "ports.cpe0.addresses=2001:db8:ffff::1"]
    g = load.Gateway(vbng, module_folder, rate="5kpps", options=options)
    try:
        client = g.wait_until_up()
        client.ask(cmd="set-name", subscriber=1, name=BAKERY)
        client.close()
        yield g
    finally:
        g.end()


@pytest.fixture
def ctl(gateway, top):
    """A function: (status, standard output, standard error) of vbngctl."""

    def run(*words, text=None):
        done = subprocess.run([sys.executable, top / "tools/vbngctl", "--socket", gateway.path, *words], input=text, capture_output=True, text=True,
                              timeout=limit(120), env={**os.environ, "PYTHONIOENCODING": "utf-8"})  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    return run


# (what the schema is called, the command): each prints JSON. Later ones undo what earlier ones do.
OUTPUTS = [
    ("show subscriber", ("show", "subscriber", "1")),
    ("show subscribers", ("show", "subscribers")),
    ("show routes", ("show", "routes")),
    ("show arp", ("show", "arp")),
    ("show ports", ("show", "ports")),
    ("show tasks", ("show", "tasks")),
    ("show directions", ("show", "directions")),
    ("show version", ("show", "version")),
    ("show qos", ("show", "qos")),
    ("show streams", ("show", "streams")),
    ("show sinks", ("show", "sinks")),
    ("show ledger", ("show", "ledger")),
    ("show capture", ("show", "capture")),
    ("show changes", ("show", "changes")),
    ("find", ("find", "Bäckerei")),
    ("explain", ("explain", "cpe0 128.256 10.0.0.0 -> 198.18.0.1")),
    ("reload", ("reload", "--dry-run", "--details")),
    ("set-name", ("set-name", "2", "Zwei")),
    ("set-profile", ("set-profile", "2", "home-10M")),
    ("set-profiles", ("set-profiles", "-")),
    ("set-mac", ("set-mac", "2", "02:c0:00:00:00:01")),
    ("set-subport-rate", ("set-subport-rate", "acc", "cpe0", "up", "9G")),
    ("set-dscp", ("set-dscp", "acc", "up", "8", "be", "2")),
    ("add-route", ("add-route", "203.0.113.0/24", "--port", "core0", "--mac", "02:dd:00:00:00:00")),
    ("change-route", ("change-route", "203.0.113.0/24", "--nexthop", "port=core0,mac=02:dd:00:00:00:01", "--nexthop",
                      "port=core0,mac=02:dd:00:00:00:02,gre=203.0.113.9,mpls=77")),
    ("show routes", ("show", "routes")),
    ("remove-route", ("remove-route", "203.0.113.0/24")),
    ("add-routes", ("add-routes", "-")),
    ("change-routes", ("change-routes", "-")),
    ("remove-routes", ("remove-routes", "-")),
    ("remove-subscriber", ("remove-subscriber", "cpe0", "191.511")),
    ("add-subscriber", ("add-subscriber", "cpe0", "191.511", "10.0.63.255", "--gre-key", "16383", "--profile", "home-100k", "--name", "Zoë")),
    ("remove-subscribers", ("remove-subscribers", "-")),
    ("add-subscribers", ("add-subscribers", "-")),
    ("set-rate", ("set-rate", "gen_hot", "--rate", "1kpps")),
    ("stop-stream", ("stop-stream", "gen_hot")),
    ("start-stream", ("start-stream", "gen_hot")),
]
INPUTS = {
    "add-routes": "prefix,port,mac,mpls,also\n203.0.113.0/25,core0,02:dd:00:00:00:00,,\n"
                  "2001:db8::/32,core0,02:dd:00:00:00:00,17,\n2001:db8::/32,core0,02:dd:00:00:00:01,18,true\n",
    "change-routes": "prefix,port,mac\n2001:db8::/32,core0,02:dd:00:00:00:00\n",
    "remove-routes": "203.0.113.0/25\n\n2001:db8::/32\n",
    "set-profiles": "2,home-100k\n",
    "remove-subscribers": "cpe0 191.510\n",
    "add-subscribers": 'port,svlan,cvlan,ipv4,gre_key,profile,name,session,mac,magic\n'
                       'cpe0,191,510,10.0.63.254,16382,home-100k,"Müller, ""Eck""",7,02:c0:00:00:3f:fe,9\n',
}


def schema_of(name):
    with open(schemas.path(name.split()), encoding="utf-8") as f:
        return json.load(f)


def documents(text):
    """The JSON documents in a text, one after the other."""
    found, decoder = [], json.JSONDecoder()
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        found.append(document)
        text = text.lstrip()[end:]
    return found


def is_valid(document, name):
    """The document is as the schema of that name says; of a long list both ends are looked at."""
    schema = schema_of(name)
    document = document[:20] + document[20:][-20:] if isinstance(document, list) else document
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)


def test_each_output_is_as_its_schema_says(ctl):
    """Those that read nothing: lines of one session."""
    tried = [(name, words) for name, words in OUTPUTS if name not in INPUTS]
    status, out, err = ctl("--json", "shell", text="\n".join(shlex.join(words) for _, words in tried))
    assert status == 0, err
    found = documents(out)
    assert len(found) == len(tried)
    for (name, _), document in zip(tried, found):
        is_valid(document, name)


@pytest.mark.parametrize("name", INPUTS)
def test_each_output_of_a_list_is_as_its_schema_says(ctl, name):
    status, out, err = ctl("--json", *dict(OUTPUTS)[name], text=INPUTS[name])
    assert status == 0, err
    is_valid(json.loads(out), name)


def test_no_output_is_without_a_schema(ctl, top):
    """Each command has one, but for those that print no JSON; and each of them is tried above, but for two, which are tried below, and
    those of vbng-cp, which tests/cp tries."""
    status, out, _ = ctl("schema")
    assert status == 0 and set(out.split("\n")) - {""} == {name for name, _ in OUTPUTS} | {"capture", "stop-capture", "disconnect", "sessions"}
    done = subprocess.run([sys.executable, "-c", "from vbngcontrol.parser import parser; from tools.cli.parsers import subcommands as s\n"
                           "for n, p in s(parser()).choices.items():\n"
                           "    print('\\n'.join(f'{n} {i}' for i in s(p).choices) if s(p) else n)"],
                          env={**os.environ, "PYTHONPATH": f"{top}:{top / 'tools'}"}, capture_output=True, text=True)  # fmt: skip
    assert set(done.stdout.split("\n")) - {""} == set(out.split("\n")) - {""} | {"schema", "shell"}, done.stderr
    assert json.loads(ctl("schema", "show", "ports")[1]) == schema_of("show ports")
    assert ctl("schema", "show", "nothing")[0] == 1 and ctl("schema", "../done")[0] == 1


def test_tables(ctl):
    """A column begins where its name does, whatever stands before it; a name is shown as it is."""
    status, out, _ = ctl("show", "subscriber", "1")
    assert status == 0 and f"name        {BAKERY}\n" in out and "mac         02:c0:00:00:00:00 (configured)\n" in out and "qos_up" in out
    status, out, _ = ctl("find", "10.0.0.0/31")
    head, first, second = out.splitlines()
    assert first[head.index("ipv4") :].startswith("10.0.0.0 ") and second[head.index("ipv4") :].startswith("10.0.0.1 ")
    assert first[head.index("name") :] == BAKERY and status == 0
    for words, text in ((("show", "ports"), "wire:core0"), (("show", "tasks"), "qinq_decap"), (("show", "version"), "qos-load"),
                        (("show", "arp"), BAKERY)):  # fmt: skip
        status, out, _ = ctl(*words)
        assert status == 0 and text in out, words
    assert all(" unknown " in line for line in ctl("show", "arp", "--unknown")[1].splitlines()[1:])


def test_queues_are_shown(capsys):
    """Below a port with several queues each has a line, by the name that "from" and the telemetry have for it; one alone has none."""
    port = {"up": True, "mac": "02:00:00:00:00:01", "mtu": 1500, "tx_queues": 1, "rx_packets": 1000, "tx_packets": 5, "rx_missed": 0, "rx_errors": 0,
            "rx_no_mbuf": 0, "tx_errors": 0, "device": "net_null0"}  # fmt: skip
    queues = [{"queue": 0, "core": 3, "name": "west", "rx_packets": 990}, {"queue": 1, "core": 12, "rx_packets": 7}]
    found = [{**port, "name": "cpe0", "rx_queues": 2, "queues": queues}, {**port, "name": "core0", "rx_queues": 1, "queues": queues[:1]}]

    class Answers:
        def ask(self, cmd):
            assert cmd == "show-ports"
            return {"ports": found}

    show.ports(Answers(), argparse.Namespace(json=False))
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["port", "link", "mac", "mtu", "queues", "received", "sent", "rx_missed", "rx_errors", "rx_no_mbuf", "tx_errors", "device"],
        ["cpe0", "up", "02:00:00:00:00:01", "1500", "2/1", "1000", "5", "0", "0", "0", "0", "net_null0"],
        ["cpe0.west", "-", "-", "-", "core", "3", "990", "-", "-", "-", "-", "-", "-"],
        ["cpe0.1", "-", "-", "-", "core", "12", "7", "-", "-", "-", "-", "-", "-"],
        ["core0", "up", "02:00:00:00:00:01", "1500", "1/1", "1000", "5", "0", "0", "0", "0", "net_null0"]]


@pytest.mark.parametrize("text, ids", [
    ("BÄCKEREI", []), ("krümel", [1]), ("<B>", [1]), ("10.0.1.1", [258]), ("02:c0:00:00:01:01", [258]), ("128.258", [3]),
    ("cpe0 128.258", [3]), ("3000", [3000, 3001]), ("no such", []),
])  # fmt: skip
def test_search(ctl, text, ids):
    """By address, MAC, VLANs, id or key, and a part of the name. Nobody: exit status 1."""
    status, out, err = ctl("--json", "find", text)
    assert [s["id"] for s in json.loads(out)] == ids and status == (0 if ids else 1), err


def test_a_long_search_ends(ctl):
    status, out, err = ctl("find", "cpe0", "--most", "1500")
    assert status == 0 and out.count("\n") == 1501 and "the first 1500" in err


# --- the shell


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, *command):
        self.text = b""
        self.process, self.fd = pty.fork()
        if self.process == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
            os.environ.update(TERM="dumb", INPUTRC="/dev/null", PYTHONIOENCODING="utf-8")
            os.execv(command[0], command)

    def send(self, text):
        os.write(self.fd, text.encode())

    def expect(self, pattern):
        """Wait for a text, and forget all up to its end."""
        end = time.monotonic() + limit(30)
        while (found := re.search(pattern.encode(), self.text)) is None:
            assert time.monotonic() < end, (pattern, self.text)
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 65536)
                except OSError:  # the program has ended
                    raise AssertionError((pattern, self.text)) from None
        self.text = self.text[found.end() :]

    def interrupt(self):
        """Ctrl-C, once readline waits for keys: Python's readline forgets one that comes while it deals with the last."""
        end = time.monotonic() + limit(30)
        while pathlib.Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < end, self.text
            time.sleep(0.01)
        self.send("\x03")

    def end(self):
        """The exit status of a program that ends by itself."""
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:  # as a terminal says that nobody is there any more
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def test_shell_in_a_terminal(gateway, top):
    """Completion of commands, options, choices and names; a wrong line and Ctrl-C end nothing; Ctrl-D ends it."""
    shell = Terminal(sys.executable, str(top / "tools/vbngctl"), "--socket", gateway.path)
    shell.expect("vbng> ")
    shell.send("sho\tver\t\n")
    shell.expect("show version")
    shell.expect("qos-load")
    shell.expect("vbng> ")
    shell.send("set-mac cp\t128.256 learn\n")
    shell.expect("set-mac cpe0 128.256 learn")
    shell.expect("nobody learns MACs here")
    shell.send("capture --port co\t-")
    shell.expect("core0 -")
    shell.interrupt()
    shell.expect("vbng> ")
    shell.send("set-subport-rate acc cpe0 d\t\n")
    shell.expect("rate acc cpe0 down")
    shell.expect("the following arguments are required")
    shell.send("nonsense\n")
    shell.expect("invalid choice")
    shell.send('set-name 1 "open\n')
    shell.expect("no closing quotation")
    shell.send("find Krümel\n")
    shell.expect("Bäckerei")
    shell.expect("vbng> ")
    shell.send("\x04")
    assert shell.end() == 0


def test_shell_of_a_file(ctl, gateway):
    """Lines up to the first that fails."""
    status, out, err = ctl("shell", text='# names\nset-name 5 "Fünf, 5"\n\nfind "Fünf"\nset-name 5 ""\nexit\nnonsense\n')
    assert status == 0 and "Fünf, 5" in out, err
    status, out, err = ctl("shell", text="set-profile 5 nothing\nshow version\n")
    assert status == 1 and out == "" and "line 1 ends it" in err
    assert ask_others(gateway) == []


# --- captures to standard output


def blocks(data):
    """Types of the blocks of a pcapng stream, which must be whole."""
    found, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4) == (length,), f"a block is cut off at {at} of {len(data)}"
        found.append(kind)
        at += length
    return found


SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6


def state_of(gateway):
    client = load.Client(gateway.path)
    end = time.monotonic() + limit(20)
    while (state := client.ask(cmd="show-capture")["capture"])["running"] and time.monotonic() < end:
        time.sleep(0.05)
    client.close()
    return state


def test_capture_to_standard_output(gateway, ctl, top):
    """A whole pcapng, up to a bound."""
    done = subprocess.run([sys.executable, top / "tools/vbngctl", "--socket", gateway.path, "capture", "-o", "-", "--port", "cpe0:rx", "--packets", "50"],
                          capture_output=True, timeout=limit(60))  # fmt: skip
    kinds = blocks(done.stdout)
    assert done.returncode == 0 and kinds[0] == SECTION and kinds.count(PACKET) == 50 and kinds[-1] == STATISTICS, done.stderr
    assert b"standard output: 50 packets" in done.stderr and b"(packets)" in done.stderr
    status, out, err = ctl("--json", "show", "capture")
    state = json.loads(out)
    is_valid(state, "capture")
    assert status == 0 and state["path"] == "" and state["packets"] == 50 and state["bytes"] == len(done.stdout), err
    assert ctl("--json", "capture", "-o", "-")[0] == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(gateway, top, number):
    """What is behind a pipe gets a whole file, with the statistics, and vbngctl ends with 0."""
    process = subprocess.Popen([sys.executable, top / "tools/vbngctl", "--socket", gateway.path, "capture", "-o", "-"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)  # fmt: skip
    data = os.read(process.stdout.fileno(), 1 << 16)
    process.send_signal(number)
    rest, err = process.communicate(timeout=limit(30))
    kinds = blocks(data + rest)
    assert process.returncode == 0 and PACKET in kinds and kinds[-1] == STATISTICS, err
    assert state_of(gateway)["ended_by"] == "reader"


def test_a_reader_who_goes_ends_it(gateway, top):
    """SIGPIPE: who looked has closed the window; also where vbngctl is killed. Then the next one can begin."""
    for kill in (False, True):
        process = subprocess.Popen([sys.executable, top / "tools/vbngctl", "--socket", gateway.path, "capture", "-o", "-"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        os.read(process.stdout.fileno(), 1 << 16)
        if kill:
            process.kill()
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=limit(30))
        assert b"Traceback" not in err and process.returncode == (-9 if kill else 1), err
        state = state_of(gateway)
        assert not state["running"] and state["ended_by"] == "reader" and state["error"] == "", state
    assert ask_others(gateway) == []


def test_a_stream_behind_other_answers(gateway):
    """Who asks for more before he asks for the stream gets these answers first, all of them."""
    client = load.Client(gateway.path)
    ask = b'{"cmd": "show-subscribers", "first": 1, "count": 1000}\n'
    client.send(10 * ask + b'{"cmd": "start-capture", "stream": true, "seconds": 1, "ports": ["cpe0"]}\n')
    for _ in range(10):
        assert len(json.loads(client.line())["rows"]) == 1000
    assert client.line() == b'{"ok":true}\n'
    assert blocks(client.file.read())[-1] == STATISTICS
    client.close()


def test_a_reader_who_takes_nothing(gateway):
    """It is waited for in the writer's own thread: nobody else waits, and the capture can be stopped; what found no room is counted."""
    client = load.Client(gateway.path)
    client.send(b'{"cmd": "start-capture", "stream": true, "seconds": 60, "ports": ["*"], "tasks": ["*"]}\n')
    other = load.Client(gateway.path)
    end = time.monotonic() + limit(30)
    while not other.ask(cmd="show-capture")["capture"]["bytes"] and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1)
    assert ask_others(gateway) == []
    other.ask(cmd="stop-capture")
    assert other.ask(cmd="start-capture", stream=True, file="x").get("error") == "expected either file or stream"
    assert other.ask(cmd="start-capture").get("error") == "expected either file or stream"
    state = state_of(gateway)
    assert state["ended_by"] in ("stopped", "failed"), state
    other.close()
    client.close()


def test_vbng_ends_while_it_streams(vbng, folder):
    """SIGTERM: who reads gets a whole file."""
    g = load.Gateway(vbng, folder, rate="1kpps")
    g.wait_until_up().close()
    client = load.Client(g.path)
    client.send(b'{"cmd": "start-capture", "stream": true, "seconds": 60, "ports": ["cpe0"]}\n')
    assert client.line() == b'{"ok":true}\n'
    data = client.file.read(1 << 12)
    wrong = g.end()
    data += client.file.read()
    assert wrong == [] and blocks(data)[-1] == STATISTICS
