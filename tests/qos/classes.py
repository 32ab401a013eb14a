# SPDX-License-Identifier: BSD-3-Clause
"""What the classes of subports and of a whole scheduler say they did, held against the task's own counters."""


def total(groups, key):
    return sum(c[key] for g in groups for c in g.values())


def wrong_classes(report):
    """What does not add up in the report's schedulers: a list of sentences."""
    tasks, wrong = {t["name"]: t for t in report["tasks"]}, []
    for q in report["qos"]:
        task, subports = tasks[q["task"]], [s["classes"] for s in q["subports"]]
        expected = {"packets": sum(s["packets"] for s in q["subports"]), "waiting": q["held"],
                    "tail": task["drops"]["queue_full"], "aqm": sum(task["drops"][r] for r in ("red", "pie", "codel", "l4s"))}
        for key, n in expected.items():
            for what, groups in (("its classes", [q["classes"]]), ("the classes of its subports", subports)):
                if total(groups, key) != n:
                    wrong.append(f"{q['task']}: {what} say {total(groups, key)} {key}, the task {n}")
    return wrong
