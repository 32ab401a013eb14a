# SPDX-License-Identifier: BSD-3-Clause
"""--check and --plan of every configuration that comes with the project."""

import json
import shutil
import subprocess

import process


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


def plan_dot(ctx, name):
    r = process.run(ctx, "--plan=dot", f"cfg/{name}")
    if r.status != 0:
        return [f"exit status {r.status}: {r.err}"]
    if shutil.which("dot") is None:
        return "dot (Graphviz) is not installed"
    done = subprocess.run(["dot", "-Tsvg"], input=r.out, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    if done.returncode != 0 or done.stderr or "<svg" not in done.stdout:
        return [f"dot: {done.stderr}"]
    missing = [p for p in process.devices(name) if p not in done.stdout]
    return [f"the picture does not name the ports {missing}"] if missing else []


def tests(ctx):
    for name in process.configurations():
        for what in (check, plan_text, plan_json, plan_dot):
            yield f"{what.__name__} {name}", lambda what=what, name=name: what(ctx, name)
