# SPDX-License-Identifier: BSD-3-Clause
"""Real frames through the real program: pcap in, pcap out, against frames that Scapy has built.

Each case runs the gateway once. It passes when every port has sent exactly the frames expected, in order, when exactly the
drops expected are counted, and when the ledger balances. At the end tshark dissects all that was sent.

In the environment: PCAP_WRAP=COMMAND runs the program under this command; VBNG_TEST_KEEP=DIR keeps configurations, captures and
reports there.
"""

import concurrent.futures
import os
import shlex

import pytest

from tests.common import need

need.module("scapy", "python3-scapy")

from tests.common.verdict import nothing  # noqa: E402
from tests.pcap import cases  # noqa: E402
from tests.pcap.harness import run_case, write_pcap  # noqa: E402

AT_ONCE = 2  # runs, most of which is to start and to stop
MALFORMED = "_ws.malformed || _ws.expert.severity == error"
# Tshark 4.4 takes the end of some frames for the trailer of PRP (IEC 62439-3), and then for a malformed one.
TSHARK_OPTIONS = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "ip.defragment:FALSE", "--disable-protocol", "prp"]
WRAP = shlex.split(os.environ.get("PCAP_WRAP", ""))


@pytest.fixture(scope="module")
def outcomes(request, vbng, module_folder):
    """{case: future of (what is wrong, frames sent by port)} of the cases that are to be tested."""
    chosen = [item.callspec.params["case"] for item in request.session.items if item.function is test_frames]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        yield {case: pool.submit(run_case, vbng, case, module_folder / case.name, wrapper=WRAP) for case in chosen}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("case", cases.all_cases(), ids=lambda case: case.name)
def test_frames(outcomes, case):
    nothing(outcomes[case].result()[0])


def test_tshark_finds_nothing_malformed(outcomes, module_folder, run):
    """One tshark for all frames of all cases: it takes longer to start than to dissect them."""
    tshark = need.program("tshark")
    sent = [(f"{case.name}, {port} frame {k}", frame) for case, outcome in outcomes.items() if case.dissect
            for port, frames in outcome.result()[1].items() for k, frame in enumerate(frames)]
    if not sent:
        need.skip("no case was run that sends anything")
    path = module_folder / "all-sent.pcap"
    write_pcap(path, [frame for _, frame in sent])
    done = run(tshark, *TSHARK_OPTIONS, "-r", path, "-Y", MALFORMED, "-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message",
               timeout=120)
    assert done.returncode == 0, done.stderr
    bad = [line.split("\t", 1) for line in done.stdout.splitlines()]
    nothing([f"{sent[int(number) - 1][0]}: {what}" for number, what in bad[:20]])
    print(f"{len(sent)} frames")
