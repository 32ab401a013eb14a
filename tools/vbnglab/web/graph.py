# SPDX-License-Identifier: BSD-3-Clause
"""Where the parts of a plan stand in a picture.

Cores that run the same tasks are a band from left to right; in it stand the ports that it receives from, its tasks, and the ports that
it sends to, each in the column of its longest way from a source, over all bands. So what crosses bands is a ring, and everything runs
to the right but what the slow path answers.
"""

import collections

BOX_W, BOX_H, PORT_W, PORT_H = 128, 54, 74, 22
GAP_X, GAP_Y, HEAD, MARGIN = 34, 14, 30, 10
SLOW = "punt"  # the output that leads to the slow path


class Graph:
    """Boxes and links of a plan (vbng --plan=json). A box is a task in a band, with its instances there."""

    def __init__(self, plan):
        self.bands = []  # {"cores": [index], "tasks": [name], "boxes": [box]}
        self.box_of = {}  # instance: box
        self.task_of, self.band_of, self.types = {}, {}, {}  # of a box
        self._find_bands(plan)
        self._find_boxes(plan)
        self.receives = {}  # box: {port}
        self.sends = {}  # box: {port}
        self.links = {}  # (from, output, to, is a port): {"kind": "call", "links": [number]}
        self._find_links(plan)

    def _find_bands(self, plan):
        task_of = {i["instance"]: i["task"] for i in plan["instances"]}
        for index, core in enumerate(plan["cores"]):
            tasks = [task_of[i] for i in core["instances"]]
            band = next((b for b in self.bands if tasks and b["tasks"] == tasks), None)
            if band is None:
                band = {"cores": [], "tasks": tasks}
                self.bands.append(band)
            band["cores"].append(index)

    def _find_boxes(self, plan):
        instances = {i["instance"]: i for i in plan["instances"]}
        bands_of = collections.Counter(task for band in self.bands for task in band["tasks"])
        for number, band in enumerate(self.bands):
            band["boxes"] = [task if bands_of[task] == 1 else f"{task} {number}" for task in band["tasks"]]
            for core in band["cores"]:
                for instance, box in zip(plan["cores"][core]["instances"], band["boxes"]):
                    self.box_of[instance] = box
                    self.task_of[box], self.types[box], self.band_of[box] = instances[instance]["task"], instances[instance]["type"], number

    def _find_links(self, plan):
        number = 0
        for instance in plan["instances"]:
            box = self.box_of[instance["instance"]]
            self.receives.setdefault(box, {}).update((r["port"], None) for r in instance["receives"])
            for output in instance["outputs"]:
                for to in output["destinations"]:
                    is_port = to["kind"] == "port"
                    end = to["port"] if is_port else self.box_of[to["instance"]]
                    if is_port:
                        self.sends.setdefault(box, {})[end] = None
                    link = self.links.setdefault((box, output["name"], end, is_port), {"kind": to["kind"], "links": []})
                    link["links"].append(number)
                    if to["kind"] == "ring":
                        link["kind"] = "ring"
                    number += 1

    def next_of(self, box):
        """[(box, output)] that a box hands packets to."""
        return [(to, output) for (frm, output, to, is_port) in self.links if frm == box and not is_port]


def _reach(roots, edges):
    """Boxes that can be reached over edges."""
    found, todo = set(roots), list(roots)
    while todo:
        for to in edges(todo.pop()):
            if to not in found:
                found.add(to)
                todo.append(to)
    return found


def columns(graph):
    """Return ({box: column from 1 on}, boxes of the slow path)."""
    entered = {to for (_, _, to, is_port) in graph.links if not is_port}
    roots = [t for t in graph.types if graph.receives.get(t) or t not in entered]

    def edges(task):
        return [to for to, output in graph.next_of(task) if output != SLOW]

    fast = _reach(roots, edges)
    column = {}

    def place(task, at, path):
        """Length of the longest way to a task; a circle ends where it began."""
        if column.get(task, 0) >= at or task in path:
            return
        column[task] = at
        for to in edges(task):
            if (to in fast) == (task in fast):
                place(to, at + 1, path | {task})

    for task in roots:
        place(task, 1, frozenset())
    slow = [t for t in graph.types if t not in fast]
    for task in slow:
        if not any(task in edges(other) for other in slow):
            place(task, 2, frozenset())
    for task in slow:
        column.setdefault(task, 2)
    return column, set(slow)


def _stacks(graph, band, tasks, ports_of, slow):
    """[(tasks, ports)] of a band: ports that the same tasks use are together."""
    users = {}
    for task in tasks:
        for port in ports_of.get(task, ()):
            users.setdefault(port, []).append(task)
    stacks = {}
    for port, by in users.items():
        key = tuple(t for t in by if t not in slow) or tuple(by)
        stacks.setdefault(key, []).append(port)
    return list(stacks.items())


def _rows(graph, band, column, slow):
    """{what: row} of a band's tasks and stacks of ports, so that a chain stays in its row."""
    tasks = graph.bands[band]["boxes"]
    taken, row, items = set(), {}, []
    rx = _stacks(graph, band, tasks, graph.receives, slow)
    tx = _stacks(graph, band, tasks, graph.sends, slow)

    def free(r, first, last):
        return all((r, c) not in taken for c in range(first, last + 1))

    def put(what, first, last, wish):
        r = wish
        while not free(r, first, last):
            r += 1
        taken.update((r, c) for c in range(first, last + 1))
        row[what] = r

    def used():
        return max((r for r, _ in taken), default=-1) + 1

    mains = {to for (_, output, to, p) in graph.links if output == "to" and not p}
    aside = {to for (_, output, to, p) in graph.links if output not in ("to", SLOW) and not p}
    order = sorted(tasks, key=lambda t: (t in slow, t in aside - mains, column[t], tasks.index(t)))
    for task in order:
        befores = [(frm, output) for (frm, output, to, p) in graph.links
                   if not p and to == task and frm in row and output != SLOW and column[frm] < column[task] and (frm in slow) == (task in slow)]
        main = [frm for frm, output in befores if output == "to"]
        if main:
            frm = min(main, key=lambda f: row[f])
            put(task, column[frm] + 1, column[task], row[frm])
        elif befores:
            put(task, column[task], column[task], row[befores[0][0]] + 1)
        else:
            put(task, max(0, column[task] - 1), column[task], used())
        for by, ports in tx:
            if by[0] == task and (by[0] in slow) == (task in slow):
                at = max(column[t] for t in by) + 1
                put(("tx", by), at, at, row[task])
                items.append((("tx", by), at, ports))
    for by, ports in rx:
        row[("rx", by)] = row[by[0]]
        items.append((("rx", by), column[by[0]] - 1, ports))
    return row, items


def _place_band(graph, band, column, slow, top):
    """Return (nodes of a band, its height)."""
    row, stacks = _rows(graph, band, column, slow)
    n_rows = max(row.values(), default=0) + 1
    heights = [BOX_H] * n_rows
    for what, _, ports in stacks:
        heights[row[what]] = max(heights[row[what]], len(ports) * (PORT_H + 4) - 4)
    tops = [top + HEAD + sum(h + GAP_Y for h in heights[:r]) for r in range(n_rows)]
    nodes = []
    for task in graph.bands[band]["boxes"]:
        r = row[task]
        nodes.append({"id": task, "kind": "task", "name": graph.task_of[task], "type": graph.types[task], "band": band, "slow": task in slow,
                      "x": _x(column[task]), "y": tops[r] + (heights[r] - BOX_H) / 2, "w": BOX_W, "h": BOX_H})
    for what, at, ports in stacks:
        r = row[what]
        y = tops[r] + (heights[r] - len(ports) * (PORT_H + 4) + 4) / 2
        for i, port in enumerate(ports):
            nodes.append({"id": f"{what[0]} {band} {port}", "kind": what[0], "name": port, "band": band, "y": y + i * (PORT_H + 4), "h": PORT_H,
                          "x": _x(at) + (BOX_W - PORT_W if what[0] == "rx" else 0), "w": PORT_W})
    return nodes, HEAD + sum(h + GAP_Y for h in heights)


def _x(column):
    return MARGIN + column * (BOX_W + GAP_X)


def _edges(graph, nodes):
    ids = {n["id"] for n in nodes}
    edges = []
    for task, ports in graph.receives.items():
        edges += [{"from": f"rx {graph.band_of[task]} {port}", "to": task, "kind": "port", "links": [], "side": False, "port": port} for port in ports]
    for (frm, output, to, is_port), link in graph.links.items():
        end = f"tx {graph.band_of[frm]} {to}" if is_port else to
        slow = next(n["slow"] for n in nodes if n["id"] == frm)
        edges.append({"from": frm, "to": end, "kind": link["kind"], "links": link["links"], "output": output,
                      "side": output == SLOW or slow})
    assert all(e["from"] in ids and e["to"] in ids for e in edges)
    return edges


def layout(plan):
    """The picture: {"width", "height", "bands", "nodes", "edges"}; links by their numbers in the plan."""
    graph = Graph(plan)
    column, slow = columns(graph)
    nodes, bands, y = [], [], MARGIN
    for i, band in enumerate(graph.bands):
        placed, height = _place_band(graph, i, column, slow, y)
        nodes += placed
        bands.append({"y": y, "h": height, "cores": band["cores"], "tasks": band["tasks"]})
        y += height + GAP_Y
    return {"width": max((n["x"] + n["w"] for n in nodes), default=0) + MARGIN, "height": y, "bands": bands, "nodes": nodes,
            "edges": _edges(graph, nodes)}
