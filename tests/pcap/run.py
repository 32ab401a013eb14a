#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Real frames through the real binary: pcap in, pcap out, against frames that Scapy has built.

usage: run.py BINARY [--filter NAME] [--keep DIR] [--list] [--wrap COMMAND]
Each case runs the gateway once. It passes when every port has sent exactly the frames expected, in order, when
exactly the drops expected are counted, and when the ledger balances. At the end tshark dissects all that was sent.
"""

import argparse
import concurrent.futures
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

try:
    import scapy  # noqa: F401
except ImportError:
    print("SKIP all: Scapy is not installed (Debian package python3-scapy)\n0 passed, 0 failed, 1 skipped")
    sys.exit(77)

import cases  # noqa: E402
from harness import run_case, write_pcap  # noqa: E402
from tally import Tally  # noqa: E402

AT_ONCE = 2  # runs, most of which is to start and to stop
MALFORMED = "_ws.malformed || _ws.expert.severity == error"
TSHARK_OPTIONS = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "ip.defragment:FALSE"]


def check_dissection(sent, folder, tally):
    """One tshark for all frames of all cases: it takes longer to start than to dissect them."""
    name = "tshark dissects all that was sent without a malformed mark"
    if shutil.which("tshark") is None:
        tally.skip(name, "tshark is not installed")
        return
    if not sent:
        tally.skip(name, "nothing was sent")
        return
    path = os.path.join(folder, "all-sent.pcap")
    write_pcap(path, [frame for _, frame in sent])
    command = ["tshark", *TSHARK_OPTIONS, "-r", path, "-Y", MALFORMED, "-T", "fields", "-e", "frame.number",
               "-e", "_ws.expert.message"]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    bad = [line.split("\t", 1) for line in done.stdout.splitlines()]
    if done.returncode != 0:
        tally.fail(name, [done.stderr.strip()])
    elif bad:
        tally.fail(name, [f"{sent[int(number) - 1][0]}: {what}" for number, what in bad[:20]])
    else:
        tally.ok(f"{name} ({len(sent)} frames)")


def main():
    parser = argparse.ArgumentParser(description="pcap in, pcap out through the real binary")
    parser.add_argument("binary")
    parser.add_argument("--filter", default="", help="run only cases whose name contains this")
    parser.add_argument("--keep", metavar="DIR", help="keep configurations, captures and reports there")
    parser.add_argument("--list", action="store_true", help="only print the names of the cases")
    parser.add_argument("--wrap", default="", help="run the binary under this command")
    args = parser.parse_args()

    todo = [c for c in cases.all_cases() if args.filter in c.name]
    if args.list:
        print("\n".join(c.name for c in todo))
        return 0
    tally = Tally()
    if not todo:
        tally.fail("--filter", [f"no case has '{args.filter}' in its name"])
    folder = args.keep or tempfile.mkdtemp(prefix="vbng-pcap-")
    sent = []

    def run(case):
        where = os.path.join(folder, case.name)
        return run_case(os.path.abspath(args.binary), case, where, wrapper=shlex.split(args.wrap))

    try:
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for case, (wrong, out) in zip(todo, pool.map(run, todo)):
                tally.result(case.name, wrong)
                if case.dissect:
                    sent += [(f"{case.name}, {port} frame {k}", f) for port in out for k, f in enumerate(out[port])]
        check_dissection(sent, folder, tally)
    finally:
        if not args.keep:
            shutil.rmtree(folder)
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())
