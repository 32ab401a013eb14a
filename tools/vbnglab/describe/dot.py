# SPDX-License-Identifier: BSD-3-Clause
"""The plan for Graphviz: a box for each core with its instances, ports at both sides. Solid edges are direct calls, bold
dashed ones rings, dotted ones in-memory wires between ports."""

HEAD = """\
  rankdir=LR;
  labeljust=l;
  ranksep=0.7;
  fontname="Helvetica";
  node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="Helvetica"];
  edge [fontname="Helvetica", fontsize=10];
  graph [style="rounded,filled", fillcolor="#eef3fa", bgcolor="#ffffff"];
"""
MAIN = ", weight=4"
SIDE = ", color=gray55, fontcolor=gray40, fontsize=8, penwidth=1, weight=0"  # the slow path is pale and does not pull at the picture


def _label(text):
    """A name in a quoted string of DOT's."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _queue(count, number):
    """A port with one queue needs no number."""
    return f"queue {number}" if count > 1 else ""


class _Picture:
    def __init__(self, plan):
        self.plan = plan
        self.node = {instance["instance"]: f"i{n}" for n, instance in enumerate(plan["instances"])}
        self.number = {port["port"]: n for n, port in enumerate(plan["ports"])}
        self.port = {port["port"]: port for port in plan["ports"]}
        self.type = {instance["instance"]: instance["type"] for instance in plan["instances"]}

    def cores(self):
        for c in self.plan["cores"]:
            yield f"  subgraph cluster_core{c['core']} {{"
            yield f'    label="core {c["core"]}: CPU {c["cpu"]}, socket {c["socket"]}";'
            for name in c["instances"]:
                kind = "" if self.type[name] == name else f"\\n({self.type[name]})"
                yield f'    {self.node[name]} [label="{_label(name)}{kind}"];'
            yield "  }"

    def ports(self):
        """One node where a port's packets come in, another where they go out, so that the picture flows one way."""
        for n, port in enumerate(self.plan["ports"]):
            for way in ("rx", "tx"):
                if port[f"{way}_queues"] > 0:
                    yield f'  {way}{n} [label="{_label(port["port"])} {way}", shape=cds, style=filled, fillcolor="#d5e8d4"];'

    def edges(self):
        for instance in self.plan["instances"]:
            node = self.node[instance["instance"]]
            for rx in instance["receives"]:
                queue = _queue(self.port[rx["port"]]["rx_queues"], rx["queue"])
                yield f'  rx{self.number[rx["port"]]} -> {node} [label="{queue}"{MAIN}];'
            for output in instance["outputs"]:
                for to in output["destinations"]:
                    yield self._edge(node, output["name"], to)

    def _edge(self, node, output, to):
        main, kind = output == "to", to["kind"]
        name = "" if main else output + ("" if kind == "call" else "\\n")
        target = f"tx{self.number[to['port']]}" if kind == "port" else self.node[to["instance"]]
        style = ""
        if kind == "port":
            name += _queue(self.port[to["port"]]["tx_queues"], to["queue"])
        if kind == "ring":
            ring = self.plan["rings"][to["ring"]]
            name += f"ring {ring['size']} {'SP' if ring['producing_cores'] == 1 else 'MP'}"
            style = ', style="bold,dashed"'
        return f'  {node} -> {target} [label="{name}"{style}{MAIN if main else SIDE}];'

    def wires(self):
        """What is sent into one end of a wire is received at the other."""
        for n, port in enumerate(self.plan["ports"]):
            if "peer" in port and port["tx_queues"] > 0 and self.port[port["peer"]]["rx_queues"] > 0:
                yield f'  tx{n} -> rx{self.number[port["peer"]]} [style=dotted, color="#5a8a55"];'


def write(plan):
    """Text in the DOT language of a plan, as `vbng --plan=json` prints it."""
    picture = _Picture(plan)
    lines = [line for part in (picture.cores, picture.ports, picture.edges, picture.wires) for line in part()]
    return f'digraph plan {{\n  label="{_label(plan["name"])}";\n' + HEAD + "".join(f"{line}\n" for line in lines) + "}\n"
