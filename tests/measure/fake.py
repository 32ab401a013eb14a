# SPDX-License-Identifier: BSD-3-Clause
"""A rig without vbng: made-up reports of a gateway with a known capacity, as vbng would write them."""

import random

from vbnglab.lab import run
from vbnglab.measure.rig import Rig, Size

TSC_HZ = 2_600_000_000
SIZE = Size(64, 78)


def latency(scale):
    """What a sink says of a stream's latency."""
    return {"count": 5000, "min": 1000.0, "mean": 5000.0 * scale, "p50": 4000.0 * scale, "p90": 8000.0 * scale,
            "p99": 20000.0 * scale, "p99_9": 50000.0 * scale, "p99_99": 80000.0 * scale, "max": 90000.0 * scale}


class FakeRig(Rig):
    """Two generators up, two down, a probe each, one sink. capacity: packets per second of the gateway; noise: of it;
    ceiling: of all generators together; dies: numbers of the trials (from 0) that die; disturbed: likewise; late: likewise,
    in which a twentieth of the load was not made."""

    def __init__(self, capacity=3e6, noise=0.0, ceiling=20e6, dies=(), disturbed=(), late=(), probes=True, **faults):
        super().__init__(__file__)
        self.capacity, self.noise, self.most, self.dies, self.disturbed = capacity, noise, ceiling, dies, disturbed
        self.late, self.number = late, 0
        self.faults = faults
        self.rng, self.count, self.requests = random.Random(1), 0, []
        self.plans = {"gateway": {"name": "fake", "configuration": __file__}}
        self.generators = {"up": ["gen_cpe0", "gen_cpe1"], "down": ["gen_core0", "gen_core1"]}
        self.generators["both"] = self.generators["up"] + self.generators["down"]
        self.probes = {"up": ["probe_cpe0"], "down": ["probe_core0"], "both": ["probe_cpe0", "probe_core0"]}
        if not probes:
            self.probes = {d: [] for d in self.probes}
        self.ports, self.cpus, self.sinks = {"t0"}, {1}, ["sink"]
        self.cores = {g: (2,) for g in self.generators["both"]}

    def trial(self, request, sample):
        self.requests.append(request)
        self.number = number = self.count
        self.count += 1
        if number in self.dies:
            dead = run.Result(False, 3, "exit status 3\nvbng: error: no memory", None, ["vbng"], 0.1)
            return dead, dead
        done = run.Result(True, 0, "", self.report(request, number), ["vbng"], 0.1, self.samples(request, sample))
        return done, done

    def rates(self, request):
        wanted = 4e7 if request.load is None else request.load
        made = min(wanted, self.most) * (0.95 if self.number in self.late else 1)
        return wanted, made, min(made, self.now)

    def samples(self, request, sample):
        _, _, back = self.rates(request)
        steps = int(request.seconds / sample)
        rows = [{"seconds": i * sample, "task": "sink", "in": back * i * sample} for i in range(steps + 1)]
        return rows + [{"seconds": request.seconds + 0.1, "task": "sink", "in": back * request.seconds}]

    def report(self, request, number):
        self.now = self.capacity * (1 + self.rng.gauss(0, self.noise))
        wanted, made, _ = self.rates(request)
        s = request.seconds
        names = self.generators[request.direction]
        tasks = [{"name": n, "type": "gen", "in": 0, "created": round(made * s / len(names)), "sent": round(made * s / len(names)),
                  "drops": {"link_full": 0}, "stats": {"missed": round((wanted - made) * s / len(names)), "no_mbuf": 0},
                  "measured": {"ceiling_pps": self.most, "limited": made < wanted, "streams": []}} for n in names]
        tasks += [{"name": n, "type": "gen", "in": 0, "created": 0, "sent": 0, "drops": {}, "stats": {}}
                  for n in self.probes[request.direction]]
        sent = sum(t["created"] for t in tasks)
        received = min(sent, round(self.now * s)) - round(sent * self.faults.get("loss", 0))
        streams = [{"stream": i, "name": n, "received": 5000, "lost": 0, "duplicates": self.faults.get("duplicates", 0),
                    "reordered": 0, "wrong": {"tags": self.faults.get("wrong", 0)},
                    "latency_ns": latency(1 + (request.load or 0) / self.capacity)}
                   for i, n in enumerate(self.probes[request.direction] if request.probes else [])]
        tasks.append({"name": "qos", "type": "qos", "in": sent, "created": 0, "sent": received, "stats": {},
                      "drops": {"queue_full": sent - received, "link_full": self.faults.get("egress", 0)}})
        tasks.append({"name": "sink", "type": "sink", "in": received + self.faults.get("extra", 0), "created": 0, "sent": 0,
                      "drops": {}, "stats": {}, "measured": {"streams": streams}})
        share = 0.5 if number in self.disturbed else 1.0
        return {"name": "fake", "version": "0", "dpdk": "DPDK 0", "memory": "no-huge", "tsc_hz": TSC_HZ, "seconds": s,
                "ports": [{"name": "t0", "rx_packets": received, "rx_bytes": received * 67,
                           "rx_missed": self.faults.get("rx_missed", 0), "rx_no_mbuf": 0, "rx_errors": 0}],
                "tasks": tasks, "ledger": {"balances": True},
                "cores": [{"cpu": 0, "busy": 0.99, "cpu_seconds": s}, {"cpu": 1, "busy": 0.5, "cpu_seconds": s * share}]}
