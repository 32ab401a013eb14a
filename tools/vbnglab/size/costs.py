# SPDX-License-Identifier: BSD-3-Clause
"""What a packet costs, in TSC cycles: measured by build/tests/bench/bench and bench-qos, whose --json these files are."""

import json
import os
from dataclasses import dataclass

from ..lab.failure import Failure

SHIPPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "costs.json")
# shaping: (case of the whole gateway in both directions, case of the task qos alone)
CASES = {"wheel": ("qos: BNG, fused", "qos: task"), "librte_sched": ("lib: BNG", "lib: task"), "none": ("both ways, fused", None)}


@dataclass(frozen=True)
class Cost:
    """Cycles of a packet through the gateway, of them those of the scheduler (0 without), the clock that they are of, and where from."""

    gateway: float
    scheduler: float
    hz: float
    source: str


def _read(path, figure):
    try:
        with open(path, encoding="utf-8") as f:
            document = json.load(f)
        return document["machine"], float(document["tsc_hz"]), {c["name"]: float(c["cycles"][figure]) for c in document["cases"]}
    except OSError as e:
        raise Failure(f"{path}: {e.strerror}") from e
    except (ValueError, LookupError, TypeError) as e:
        raise Failure(f"{path}: expected what bench --json writes ({e})") from e


def read_cases(paths, figure="median"):
    """({case: its cycles}, TSC in Hz, machine) of files of bench --json and bench-qos --json. figure: "median", "min" or "max" of the
    repetitions. Raises Failure."""
    cases, machines, clocks = {}, [], set()
    for path in paths:
        machine, hz, found = _read(path, figure)
        machines.append(machine)
        clocks.add(hz)
        cases.update(found)
    if max(clocks) > 1.01 * min(clocks):
        raise Failure("--costs: the files are of machines with different clocks")
    return cases, max(clocks), machines[0]


def read(shaping, paths=()):
    """The Cost of a kind of shaping. paths: files of bench --json and bench-qos --json; none: what is shipped. Raises Failure."""
    cases, hz, machine = read_cases(paths or [SHIPPED])
    missing = [name for name in CASES[shaping] if name and name not in cases]
    if missing:
        program = "bench" if shaping == "none" else "bench-qos"
        raise Failure(f"--costs: no case '{missing[0]}': build/tests/bench/{program} --json FILE measures it")
    whole, scheduler = CASES[shaping]
    return Cost(cases[whole], cases[scheduler] if scheduler else 0.0, hz, machine)
