# SPDX-License-Identifier: BSD-3-Clause
"""What is true of every capture. Each returns a list of what is wrong."""


def order(capture):
    ns = [p.ns for p in capture.packets]
    return [] if ns == sorted(ns) else ["the times of the packets go back"]


def kept(state):
    """All that was wanted is in the file, or counted as lost."""
    wrong = [] if state["taken"] == state["packets"] + state["lost"] else [f"packets are missing: {state}"]
    return wrong + ([] if state["lost"] == 0 else [f"{state['lost']} lost"])


def statistics(capture, state):
    """The file says of each interface what the control socket says."""
    wrong = []
    for i in state["interfaces"]:
        want = {"received": i["matched"], "accepted": i["taken"], "dropped": i["lost"], "delivered": i["written"]}
        if capture.statistics.get(i["name"]) != want:
            wrong.append(f"{i['name']}: {capture.statistics.get(i['name'])} in the file, {want} on the socket")
    if [i["name"] for i in state["interfaces"]] != capture.interfaces:
        wrong.append(f"interfaces {capture.interfaces}")
    return wrong
