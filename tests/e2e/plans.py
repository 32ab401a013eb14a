# SPDX-License-Identifier: BSD-3-Clause
"""--check and --plan of every configuration that comes with the project."""

import json

from tests.e2e import process


def check(ctx, name):
    r = process.run(ctx, "--check", f"cfg/{name}")
    if r.status != 0 or not r.out.startswith(f"cfg/{name}: OK (") or r.err:
        return [f"exit status {r.status}: {r.out}{r.err}"]
    return []


def plan_text(ctx, name):
    r = process.run(ctx, "--plan", f"cfg/{name}")
    wrong = [f"exit status {r.status}: {r.err}"] if r.status != 0 else []
    missing = [p for p in process.devices(name) if p not in r.out]
    return wrong + ([f"the plan does not name the ports {missing}"] if missing else [])


def plan_json(ctx, name):
    r = process.run(ctx, "--plan=json", f"cfg/{name}")
    if r.status != 0:
        return [f"exit status {r.status}: {r.err}"]
    try:
        plan = json.loads(r.out)
    except ValueError as e:
        return [f"is no JSON: {e}"]
    empty = [key for key in ("cores", "instances", "memory") if not plan.get(key)]
    return [f"'{key}' is missing or empty" for key in empty]


def tests():
    """(title, function of a context) of each case."""
    for name in process.configurations():
        for what in (check, plan_text, plan_json):
            yield f"{what.__name__} {name}", lambda ctx, what=what, name=name: what(ctx, name)
