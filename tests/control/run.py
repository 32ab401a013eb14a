#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The control socket of the real binary, under load: changes, and clients that behave badly.

usage: run.py BINARY VBNGCTL [--filter NAME]
"""

import argparse
import csv
import os
import random
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "pcap")]

import load  # noqa: E402
from tally import Tally  # noqa: E402

CHANGES = 10000
# The only drops of a gateway whose subscribers send more than they may; overload: on a machine that is too slow for
# the load, what cannot be taken is dropped before the scheduler.
SHAPED = ("queue_full", "overload")
RUNNING = {}  # the gateway that the tests of clients share


def drops_of(report):
    """Drops of the gateway's own tasks but those of the shaper, "task reason": packets."""
    return {
        f"{t['name']} {reason}": n
        for t in report["tasks"]
        if t["type"] != "gen"
        for reason, n in t["drops"].items()
        if n > 0 and reason not in SHAPED
    }


def account(gateway):
    """What is wrong with a gateway that has ended."""
    report = gateway.report()
    wrong = [] if report["ledger"]["balances"] else [f"the ledger does not balance: {report['ledger']}"]
    wrong += [f"lost: {name} {n}" for name, n in drops_of(report).items()]
    for t in report["tasks"]:
        if t["type"] == "qos" and t["sent"] == 0:
            wrong.append(f"{t['name']} has sent nothing")
    return wrong


def check_csv(gateway, expected):
    """One row of each subscriber, with the profile that it has at the end; packets as the task counted."""
    with open(gateway.csv_path, newline="") as f:
        rows = list(csv.DictReader(f))
    wrong = [] if len(rows) == load.SUBSCRIBERS else [f"{len(rows)} rows"]
    for row in rows:
        if row["profile"] != expected.get(int(row["id"]), "home-100k"):
            wrong.append(f"subscriber {row['id']} has profile {row['profile']}")
            break
    for t in gateway.report()["tasks"]:
        if t["type"] != "qos":
            continue
        name = t["name"]
        sent = sum(int(r[f"{name}_packets"]) for r in rows)
        queues = ["0", "be0", "be1", "be2", "be3"]
        queued = sum(int(r[f"{name}_{q}_queued"]) for r in rows for q in queues)
        tail = sum(int(r[f"{name}_{q}_tail"]) for r in rows for q in queues)
        if sent != t["sent"]:
            wrong.append(f"{name}: subscribers have {sent} packets, the task has sent {t['sent']}")
        if queued != sent + t["held"]:
            wrong.append(f"{name}: {queued} packets queued, {sent} sent, {t['held']} held")
        if tail != t["drops"]["queue_full"]:
            wrong.append(f"{name}: {tail} tail drops of subscribers, {t['drops']['queue_full']} of the task")
    return wrong


def shaping_error(binary, folder):
    """The 32 hot subscribers, and nobody else, are limited by their rate; none gets more than that."""
    gateway = load.Gateway(binary, folder)
    client = gateway.wait_until_up()
    wrong = []
    try:
        time.sleep(3.2)
        for s in client.ask(cmd="show-qos")["qos"]:
            e, limited = s["shaping"], 32 if s["task"] == "qos_up" else 0
            if e["limited"] != limited or e["over"] != 0 or e["worst"] > 0.01 or e["worst_subscriber"] > 32:
                wrong.append(f"{s['task']}: {e}")
            # a busy machine takes the core away: then the scheduler says for how long
            if limited and e["median"] < -0.02 and s["lost"] < 0.01:
                wrong.append(f"{s['task']}: too slow, and no time was lost: {e}")
    finally:
        wrong += gateway.end()
    return wrong + account(gateway)


def changes_under_load(binary, folder):
    """10,000 changes in requests of one, then 10,000 in one request, while packets wait for their rate."""
    gateway = load.Gateway(binary, folder)
    client = gateway.wait_until_up()
    wrong, expected = [], {}
    pick = random.Random(1)
    try:
        before = client.ask(cmd="show-ledger")["ledger"]
        start = time.monotonic()
        for i in range(CHANGES):
            # the hot ones above all: their queues are never empty
            who = pick.randint(1, 32) if i % 2 else pick.randint(1, load.SUBSCRIBERS)
            expected[who] = pick.choice(["home-100k", "home-10M", "home-50M"])
            if client.ask(cmd="set-profile", subscriber=who, profile=expected[who]) != {"ok": True, "changed": 1}:
                return [f"change {i} was not answered well"]
        took = time.monotonic() - start
        batch = [[pick.randint(1, load.SUBSCRIBERS), pick.choice(["home-100k", "home-10M"])] for _ in range(CHANGES)]
        start = time.monotonic()
        if client.ask(cmd="set-profiles", changes=batch) != {"ok": True, "changed": CHANGES}:
            return ["the batch was not answered well"]
        batch_took = time.monotonic() - start
        expected.update(batch)
        after = client.ask(cmd="show-ledger")["ledger"]
        held = [s["held"] for s in client.ask(cmd="show-qos")["qos"]]
        if after["received"] <= before["received"] or max(held) == 0:
            wrong.append(f"no traffic was there to disturb: {before} {after} {held}")
        print(f"   {CHANGES} changes one by one in {took:.1f} s, in one request in {batch_took:.2f} s, "
              f"while {after['received'] - before['received']} packets were received")
    finally:
        wrong += gateway.end()
    return wrong + account(gateway) + check_csv(gateway, expected)


def ask_others(gateway):
    """The gateway answers someone else at once."""
    start = time.monotonic()
    other = load.Client(gateway.path)
    ok = other.ask(cmd="show-ledger").get("ok")
    other.close()
    took = time.monotonic() - start
    return [] if ok and took < 2 else [f"another client waited {took:.1f} s"]


def permissions(gateway):
    mode = stat.S_IMODE(os.stat(gateway.path).st_mode)
    return [] if mode == 0o600 else [f"mode {mode:o}"]


def access(binary, folder):
    """A group and a mode for the socket; others never."""
    group = 12345 if os.getuid() == 0 else os.getgid()
    wrong = []
    for options, mode in ((["--control-group", str(group)], 0o660), (["--control-mode", "0640"], 0o640),
                          (["--control-group", str(group), "--control-mode", "0600"], 0o600)):
        gateway = load.Gateway(binary, folder, "1kpps", options)
        gateway.wait_until_up().close()
        st = os.stat(gateway.path)
        if stat.S_IMODE(st.st_mode) != mode or ("--control-group" in options and st.st_gid != group):
            wrong.append(f"{options}: mode {st.st_mode:o}, group {st.st_gid}")
        wrong += gateway.end()
    for options, status, words in ((["--control-mode", "0666"], 2, "others get nothing"), (["--control-mode", "660x"], 2, "octal"),
                                   (["--control-mode", "0060"], 2, "octal"), (["--control-group", "no such"], 3, "no group")):
        done = subprocess.run([binary, "-q", "--share-cpus", "--control", gateway.path, *options, gateway.config],
                              capture_output=True, text=True, timeout=60)
        if done.returncode != status or words not in done.stderr:
            wrong.append(f"{options}: status {done.returncode}: {done.stderr}")
        if os.path.exists(gateway.path):
            wrong.append(f"{options}: left a socket")
    return wrong


def path_taken(gateway):
    """A second vbng does not take the path, nor a file's."""
    wrong = []
    plain = os.path.join(os.path.dirname(gateway.path), "plain")
    open(plain, "w").close()
    for path, words in ((gateway.path, "another process answers"), (plain, "no socket"), ("x" * 200, "expected a path"),
                        (plain + "/x", "Not a directory")):
        done = subprocess.run([gateway.binary, "-q", "--share-cpus", "--control", path, gateway.config],
                              capture_output=True, text=True, timeout=60)
        if done.returncode != 3 or words not in done.stderr:
            wrong.append(f"{path}: status {done.returncode}: {done.stderr}")
    if not os.path.exists(plain):
        wrong.append("a file was removed")
    return wrong + ask_others(gateway)


def half_requests(gateway):
    """Bytes one by one; a line that never ends; a request without its line end before the end."""
    slow = load.Client(gateway.path)
    for byte in b'{"cmd": "show-ledger"}\n':
        slow.send(bytes([byte]))
        time.sleep(0.005)
    wrong = [] if b'"ok":true' in slow.line() else ["a slow request was not answered"]
    silent = load.Client(gateway.path)
    silent.send(b'{"cmd": "set-profile", "subscriber": 1, "profile": "home-5')
    wrong += ask_others(gateway)
    silent.socket.shutdown(socket.SHUT_WR)
    if silent.line() != b"":
        wrong.append("half a request was answered")
    both = load.Client(gateway.path)
    both.send(b'{"cmd": "show-ledger"}\n{"cmd": "show-qos"}\n{"cmd": "show-le')
    both.socket.shutdown(socket.SHUT_WR)
    answers = both.file.readlines()
    if len(answers) != 2 or not all(b'"ok":true' in a for a in answers):
        wrong.append(f"two requests and a half: {len(answers)} answers")
    for c in (slow, silent, both):
        c.close()
    return wrong


def huge_lines(gateway):
    """A line of 1 MiB is too much, one below is read; an endless one is cut off."""
    wrong = []
    client = load.Client(gateway.path)
    client.send(b" " * 1000000 + b'{"cmd": "show-ledger"}\n')
    if b'"ok":true' not in client.line():
        wrong.append("a long line of blanks was not read")
    try:
        client.send(b"[" * (3 << 20))
    except OSError:
        pass  # closed while we send
    try:
        answer = client.line()
    except OSError:
        answer = b"too long"
    if b"too long" not in answer:
        wrong.append(f"3 MiB: {answer[:100]}")
    client.close()
    return wrong + ask_others(gateway)


def random_bytes(gateway):
    """Whatever comes, each line is answered with an error, or nobody knows where it ends."""
    pick = random.Random(2)
    wrong = []
    for i in range(200):
        client = load.Client(gateway.path)
        lines = [bytes(b for b in pick.randbytes(pick.randint(0, 2000)) if b != 10) for _ in range(5)]
        client.send(b"\n".join(lines) + b"\n")
        for line in lines:
            if not client.line().startswith(b'{"error":'):
                wrong.append(f"no error for {line[:40]}")
        client.close()
    return wrong[:3] + ask_others(gateway)


def never_reads(gateway):
    """Clients that ask and do not read: what they ask waits in the kernel, and nobody else waits."""
    request = b'{"cmd": "show-subscribers", "first": 1, "count": 1000}\n'
    deaf = []
    for _ in range(4):
        c = load.Client(gateway.path)
        c.socket.setblocking(False)
        try:
            while True:
                c.socket.send(request * 50)
        except BlockingIOError:
            deaf.append(c)
    wrong = ask_others(gateway)
    for c in deaf:
        c.close()
    return wrong + ask_others(gateway)


def hundred_clients(gateway):
    """There are 32 places: the others are told so, and the still ones give way."""
    clients = [load.Client(gateway.path) for _ in range(100)]
    told = 0
    for c in clients:
        c.socket.settimeout(0.2)
        try:
            told += b"too many clients" in c.line()
        except (TimeoutError, OSError):
            pass
    wrong = [] if told == 100 - 32 else [f"{told} of 100 were told that there are too many"]
    time.sleep(5.5)
    wrong += ask_others(gateway)
    for c in clients:
        c.close()
    return wrong + ask_others(gateway)


def tool(gateway, vbngctl):
    """vbngctl: what it shows and changes, and that it says what is wrong."""

    def ctl(*words, status=0, text=None):
        return subprocess.run([sys.executable, vbngctl, "--socket", gateway.path, *words], input=text,
                              capture_output=True, text=True, timeout=120)

    wrong = []
    for words, status, expect in (
        (["set-profile", "17", "home-50M"], 0, ""),
        (["show", "subscriber", "17"], 0, '"profile": "home-50M"'),
        (["set-profile", "cpe0", "128.272", "home-10M"], 0, ""),
        (["show", "subscriber", "cpe0", "128.272"], 0, '"profile": "home-10M"'),
        (["show", "qos"], 0, '"task": "qos_down"'),
        (["show", "ledger"], 0, '"received"'),
        (["set-subport-rate", "acc", "cpe0", "up", "5G"], 0, ""),
        (["set-dscp", "acc", "up", "8", "be", "2"], 0, ""),
        (["show", "changes"], 0, '"cmd": "set-dscp"'),
        (["reload", "--dry-run", "--details"], 0, "subscribers: 0 added, 0 removed, 1 changed"),
        (["remove-subscriber", "cpe0", "128.256"], 0, ""),
        (["show", "subscriber", "cpe0", "128.256"], 1, "there is none"),
        (["add-subscriber", "cpe0", "128.256", "10.0.0.0", "--gre-key", "0", "--profile", "home-100k"], 0, "1\n"),
        (["add-subscriber", "cpe0", "128.256", "10.0.0.0", "--gre-key", "0", "--profile", "home-100k"], 1, "is another's"),
        (["add-subscriber", "cpe0", "300.1", "10.1.0.0", "--profile", "home-100k"], 1, "max_subscribers"),
        (["add-subscriber", "cpe0", "300", "10.1.0.0"], 1, "expected SVLAN.CVLAN"),
        (["set-mac", "cpe0", "128.256", "02:c0:00:00:00:00"], 0, ""),
        (["change-route", "198.18.0.0/15", "--port", "core0", "--mac", "02:dd:00:00:00:00", "--mpls", "17"], 0, ""),
        (["show", "routes"], 0, "mpls=17"),
        (["remove-route", "198.18.0.0/15"], 0, ""),
        (["add-route", "198.18.0.0/15", "--port", "core0", "--mac", "02:dd:00:00:00:00", "--gre", "203.0.113.1", "--mpls", "16"], 0, ""),
        (["add-route", "198.18.0.0/15", "--port", "core0"], 2, "--via"),
        (["remove-route", "198.20.0.0/15"], 1, "no route"),
        (["set-profile", "17", "home-5M"], 1, "did you mean"),
        (["set-profile", "99999", "home-10M"], 1, "expected 1 to 16384"),
        (["set-dscp", "acc", "up", "8", "3"], 1, "no queues"),
        (["reboot"], 2, "invalid choice"),
        (["--help"], 0, "set-subport-rate"),
    ):
        done = ctl(*words)
        if done.returncode != status or expect not in done.stdout + done.stderr:
            wrong.append(f"{' '.join(words)}: status {done.returncode}: {done.stdout}{done.stderr}")
    done = ctl("show", "subscribers")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    if len(rows) != load.SUBSCRIBERS or rows[16]["profile"] != "home-10M":
        wrong.append(f"show subscribers: {len(rows)} rows: {done.stderr}")
    done = ctl("set-profiles", "-", text="1,home-50M\ncpe0 128.257,home-50M\n")
    if done.stdout != "2 changed\n":
        wrong.append(f"set-profiles: {done.stdout}{done.stderr}")
    return wrong


def stale_path(binary, folder):
    """What a killed vbng leaves is replaced; and a stop removes it."""
    gateway = load.Gateway(binary, folder, rate="1kpps")
    gateway.wait_until_up().close()
    gateway.process.kill()
    gateway.process.communicate()
    if not os.path.exists(gateway.path):
        return ["a killed process has removed its path"]
    gateway = load.Gateway(binary, folder, rate="1kpps")
    gateway.wait_until_up().close()
    return gateway.end()


def shared(binary):
    """The gateway for the tests of clients, started by the first of them."""
    if "gateway" not in RUNNING:
        RUNNING["folder"] = tempfile.mkdtemp(prefix="vbng-control-")
        RUNNING["gateway"] = load.Gateway(binary, RUNNING["folder"], rate="20kpps")
        RUNNING["gateway"].wait_until_up().close()
    return RUNNING["gateway"]


def end_shared(binary):
    gateway = shared(binary)
    # the one whom the tool has removed and added again was missed for a while, and so was the route
    return [w for w in gateway.end() + account(gateway) if "unknown_" not in w and "no_route" not in w and "not_shaped" not in w and "no_cpe_mac" not in w]


def in_folder(test, binary):
    with tempfile.TemporaryDirectory(prefix="vbng-control-") as folder:
        return test(binary, folder)


def tests(binary, vbngctl):
    yield "20,000 profiles change under load", lambda: in_folder(changes_under_load, binary)
    yield "the shaping error is seen", lambda: in_folder(shaping_error, binary)
    yield "a stale path is replaced", lambda: in_folder(stale_path, binary)
    yield "who may use the socket", lambda: in_folder(access, binary)
    for test in (permissions, path_taken, half_requests, huge_lines, random_bytes, never_reads, hundred_clients):
        yield test.__doc__ or test.__name__, lambda test=test: test(shared(binary))
    yield "vbngctl", lambda: tool(shared(binary), vbngctl)
    yield "the gateway has survived all that", lambda: end_shared(binary)


def main():
    parser = argparse.ArgumentParser(description="the control socket of the real binary")
    parser.add_argument("binary")
    parser.add_argument("vbngctl")
    parser.add_argument("--filter", default="", help="run only tests whose name contains this")
    args = parser.parse_args()
    tally = Tally()
    try:
        for name, test in tests(os.path.abspath(args.binary), os.path.abspath(args.vbngctl)):
            if args.filter in name:
                tally.result(name.splitlines()[0], test())
    finally:
        if "gateway" in RUNNING:
            RUNNING["gateway"].end()
            shutil.rmtree(RUNNING["folder"])
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
