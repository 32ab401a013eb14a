# SPDX-License-Identifier: BSD-3-Clause
"""Both families at once through the gateway of cfg/: each stream arrives, or what is missing is counted."""

import functools

from tests.e2e import process

# configurations, with the sizes of their generators' frames; in the second all tunnels are of IPv6, and those by core1 have no label; in the third
# subscribers are in sessions of PPPoE
GENERATORS = {"bng-dual-4port.cfg": {"gen_cpe0": 128, "gen_cpe1": 128, "gen_core0": 152, "gen_core1": 152},
              "bng-over6-4port.cfg": {"gen_cpe0": 128, "gen_cpe1": 128, "gen_core0": 172, "gen_core1": 168},
              "bng-pppoe-4port.cfg": {"gen_cpe0": 136, "gen_cpe1": 136, "gen_core0": 152, "gen_core1": 152}}
PACKET = 102  # bytes of IP in each of these frames
ABSENCE = {"overload", "link_full"}  # what a core that was away for too long may drop


def settings(configuration):
    """A light load of frames with stamps, and no heavy subscribers."""
    pairs = [f"{name}.{key}" for name, size in GENERATORS[configuration].items() for key in (f"size={size}", "stamp=true", "rate=20kpps")]
    pairs += ["heavy_cpe0.start=1h", "heavy_core0.start=1h"] * (configuration == "bng-dual-4port.cfg")
    return [word for pair in (*pairs, "sink.stamps=true") for word in ("--set", pair)]


def task(report, name):
    return next(t for t in report["tasks"] if t["name"] == name)


def counted(report, drops):
    """What is wrong with the counters of both directions and families: all that was sent, but for what was lost before."""
    wrong = []
    for direction, names in (("up", ("gen_cpe0", "gen_cpe1")), ("down", ("gen_core0", "gen_core1"))):
        for family in ("ipv4", "ipv6"):
            sent = sum(s["sent"] for name in names for s in task(report, name)["measured"]["streams"] if s["name"] == f"{name}/{family}")
            packets, octets = (report["directions"][direction][f"{family}_{what}"] for what in ("packets", "bytes"))
            if packets > sent or (packets < sent and not drops) or packets == 0 or octets != packets * PACKET:
                wrong.append(f"{direction} {family}: {sent} sent, {packets} packets and {octets} bytes counted, {drops or 'nothing'} dropped")
    return wrong


def arrive(configuration, ctx):
    """Of every stream the sink has what was sent, but for what a busy machine has lost, and the ledger has that."""
    r = process.run(ctx, "--quiet", "--share-cpus", "--duration", "1s", *settings(configuration), f"cfg/{configuration}", report=True, timeout=60)
    if r.status != 0:
        return [f"exit status {r.status}: {r.err or r.out}"]
    report = r.report()
    wrong = process.ledger_faults(report)
    drops = {reason for t in report["tasks"] for reason, n in t["drops"].items() if n}
    wrong += [f"dropped for {reason}" for reason in sorted(drops - ABSENCE)]
    measured = task(report, "sink")["measured"]
    got = {s["name"]: s for s in measured["streams"]}
    wrong += [f"{key}: {measured[key]}" for key in ("unstamped", "unknown_stream") if measured[key]]
    for name in GENERATORS[configuration]:
        streams = {s["name"]: s["sent"] for s in task(report, name)["measured"]["streams"]}
        share = streams[f"{name}/ipv4"] / sum(streams.values())
        if abs(share - 0.3) > 0.01:
            wrong.append(f"{name}: a share of {share} is IPv4, not 0.3")
        for stream, sent in streams.items():
            there = got[stream]["received"] if stream in got else 0
            if there == 0 or there > sent or (there < sent and not drops):
                wrong.append(f"{stream}: {sent} sent, {there} received, {drops or 'nothing'} dropped")
    return wrong + counted(report, drops)


def tests():
    """(title, function of a context) of each case."""
    for configuration in GENERATORS:
        yield f"both families arrive: {configuration}", functools.partial(arrive, configuration)
