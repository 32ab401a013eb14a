# SPDX-License-Identifier: BSD-3-Clause
"""Clients that hang, and that send what is no request, while a gateway forwards."""

import contextlib
import json
import random
import socket
import time

from tests.control import load
from tests.faults import lab
from tests.faults.lab import Row, Vbng
from vbnglab.lab import telemetry

MALFORMED = 10000
HANGING = 9  # DPDK serves ten telemetry clients at a time


@contextlib.contextmanager
def gateway(ctx):
    """A gateway with subscribers, shaped in both directions, under load."""
    with Vbng(ctx, "--share-cpus", load.write(ctx.folder, "20kpps"), control=True) as v:
        yield v


def quiet_loss(v, row):
    """End it. Packets lost but to the shaper, which there are not."""
    report = v.stop(row)
    if report is None:
        return "?"
    lost = {k: n for k, n in lab.dropped(report).items() if not k.endswith(("queue_full", "overload"))}
    row.expect(not lost, f"lost: {lost}")
    row.expect(lab.task(report, "sink")["in"] > 0, "nothing was forwarded")
    return str(sum(lost.values()))


def refusal(path):
    """Why a telemetry client is not served; "" if it is."""
    try:
        telemetry.Telemetry(path).close()
    except telemetry.Unreachable as e:
        return str(e)
    return ""


def telemetry_hangs(ctx):
    """Clients that ask and never read; DPDK has a thread for each."""
    row = Row(f"{HANGING} telemetry clients that never read their answers")
    with gateway(ctx) as v:
        v.wait_for_packets("sink", 1000)
        hanging = []
        for _ in range(HANGING):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect(v.telemetry_path())
            s.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(1000):
                    s.send(b"/vbng/subscriber/page,0")
            hanging.append(s)
        start = time.monotonic()
        with telemetry.Telemetry(v.telemetry_path()) as t:
            row.expect(t.ask("/vbng/ledger/get,0"), "another client is not answered")
            took = time.monotonic() - start
            row.expect("10 clients are served already" in refusal(v.telemetry_path()), "one too many is not told why it is not answered")
        row.expect(took < 2, f"another client waits {took:.1f} s")
        row.expect(v.client().ask(cmd="show-ledger")["ok"], "the control socket does not answer")
        row.expect(v.wait_for_packets("sink", 1000), "packets do not flow")
        row.saw = f"nothing; another client is answered within {max(took, 0.01):.2f} s"
        for s in hanging:
            s.close()
        row.lost = quiet_loss(v, row)
        row.recovery = "by itself, when they end"
    return [row]


def control_hangs(ctx):
    """Clients that ask and never read, that send half a line, that only connect."""
    row = Row("40 control clients that never read, never end their line, never speak")
    with gateway(ctx) as v:
        v.client().close()
        clients = [load.Client(v.socket) for _ in range(40)]
        for i, c in enumerate(clients):
            c.socket.setblocking(False)
            with contextlib.suppress(OSError):
                while i % 3 == 0:
                    c.socket.send(b'{"cmd": "show-subscribers", "first": 1, "count": 1000}\n' * 20)
                if i % 3 == 1:
                    c.socket.send(b'{"cmd": "show-led')
        time.sleep(5.2)  # after 5 s a still client gives way
        start = time.monotonic()
        row.expect(v.client().ask(cmd="show-ledger")["ok"], "another client is not answered")
        took = time.monotonic() - start
        row.expect(took < 2, f"another client waits {took:.1f} s")
        row.expect(v.wait_for_packets("sink", 1000), "packets do not flow")
        row.saw = f"a new client is told 'too many clients' for 5 s, then answered within {max(took, 0.01):.2f} s"
        for c in clients:
            c.close()
        row.lost = quiet_loss(v, row)
        row.recovery = "by itself: a client that is still for 5 s gives way"
    return [row]


def malformed(pick):
    """A line that is no right request, by kind."""
    right = json.dumps({"cmd": "set-profile", "subscriber": 1, "profile": "home-50M"}).encode()
    kinds = (
        lambda: bytes(b for b in pick.randbytes(pick.randint(1, 300)) if b != 10),  # random bytes
        lambda: right[: pick.randint(1, len(right) - 1)],  # cut off
        lambda: (b"[" if pick.random() < 0.5 else b'{"a":') * pick.randint(1, 5000),  # nested
        lambda: right.replace(b"1", pick.choice([b"-1", b"1e99", b"true", b"[1]", b"{}", b'"x"', b"99999999999999999999"])),
        lambda: right.replace(b'"set-profile"', json.dumps(pick.choice([None, 7, [], {}, "", "reboot", "x" * 2000])).encode()),
        lambda: right.replace(b"}", b', "more": 1}'),  # unknown key
        lambda: right.replace(b"}", b', "cmd": "set-profile"}'),  # twice
        lambda: right.replace(b"home", b"\xff\xfe\x00\x01"),  # no UTF-8, a NUL
        lambda: json.dumps({"cmd": "set-profiles", "changes": [[pick.randint(1, 100), "home-50M"]] * 3 + [[1]]}).encode(),
    )
    return pick.choice(kinds)()


def malformed_requests(ctx):
    """10,000 of them, each answered with an error; nothing changes."""
    row = Row(f"{MALFORMED} malformed control requests: random, cut off, nested, binary, wrong types; 4 of 2 MiB")
    pick, errors = random.Random(6), 0
    with gateway(ctx) as v:
        client = v.client()
        before = [client.ask(cmd="show-subscriber", subscriber=i)["subscriber"]["profile"] for i in (1, 2, 50)]
        start = time.monotonic()
        for _ in range(MALFORMED // 50):
            lines = [malformed(pick) or b"-" for _ in range(50)]
            client.send(b"\n".join(lines) + b"\n")
            for line in lines:
                answer = client.line()
                if not row.expect(answer.startswith(b'{"error":'), f"{line[:60]} was answered {answer[:60]}"):
                    return [row]
                errors += 1
        took = time.monotonic() - start
        for _ in range(4):
            huge = load.Client(v.socket)
            with contextlib.suppress(OSError):
                huge.send(b"x" * (2 << 20))
            huge.close()
        after = [client.ask(cmd="show-subscriber", subscriber=i)["subscriber"]["profile"] for i in (1, 2, 50)]
        row.expect(before == after, f"a profile has changed: {before} {after}")
        row.saw = f"{errors} errors in {took:.1f} s; nothing has changed"
        row.lost = quiet_loss(v, row)
        row.recovery = "none is needed"
    return [row]


TESTS = [
    ("telemetry clients hang", True, telemetry_hangs),
    ("control clients hang", False, control_hangs),
    ("malformed requests", True, malformed_requests),
]
