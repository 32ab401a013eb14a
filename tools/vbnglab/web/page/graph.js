// SPDX-License-Identifier: BSD-3-Clause
// The pipeline: drawn once for a plan, then only its figures change.
import { percent, say, si, svg } from "./draw.js";

const title = text => svg("title", {}, text);

function path(from, to) {
  const x1 = from.x + from.w, y1 = from.y + from.h / 2, x2 = to.x, y2 = to.y + to.h / 2;
  const bend = x2 > x1 ? Math.max(18, (x2 - x1) / 2) : 60;
  return y1 === y2 && x2 > x1 ? `M${x1} ${y1}H${x2}` : `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

export class Graph {
  constructor(root) { this.root = root; }

  /** What /api/plan says. */
  draw({ plan, layout }) {
    this.plan = plan;
    this.layout = layout;
    this.root.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
    this.root.style.maxWidth = `${layout.width}px`;
    this.root.style.minWidth = `${0.75 * layout.width}px`;
    const node = Object.fromEntries(layout.nodes.map(n => [n.id, n]));
    this.bands = layout.bands.map(b => this.#band(b));
    this.edges = layout.edges.map(e => ({ ...e, line: svg("path", { d: path(node[e.from], node[e.to]), class: `edge ${e.kind}` }, title("")) }));
    this.nodes = layout.nodes.map(n => this.#node(n));
    this.tanks = layout.nodes.filter(n => n.kind === "task").map(n => this.#tank(n)).filter(t => t !== null);
    const slowLast = [...this.edges].sort((a, b) => b.side - a.side);
    this.root.replaceChildren(...this.bands.map(b => b.group), ...slowLast.map(e => e.line), ...this.nodes.map(n => n.group),
      ...this.tanks.map(t => t.group));
  }

  #band(band) {
    const group = svg("g", {}, svg("rect", { class: "band", x: 2, y: band.y, width: this.layout.width - 4, height: band.h, rx: 6 }));
    const cores = band.cores.map((index, i) => {
      const core = this.plan.cores[index], x = 12 + i * 232, y = band.y + 9;
      const fill = svg("rect", { class: "busy", x: x + 124, y, width: 0, height: 10, rx: 2 }), text = svg("text", { x: x + 190, y: y + 9 });
      group.append(svg("text", { x, y: y + 9, class: "name" }, `core ${core.core} · CPU ${core.cpu}`),
        svg("rect", { class: "track", x: x + 124, y, width: 60, height: 10, rx: 2 }), fill, text);
      return { index, fill, text };
    });
    return { group, cores };
  }

  #node(n) {
    const group = svg("g", { class: `node ${n.kind} ${n.slow ? "slow" : ""}`, "data-node": n.id }, title(""),
      svg("rect", { class: "box", x: n.x, y: n.y, width: n.w, height: n.h, rx: n.kind === "task" ? 5 : 10 }));
    if (n.kind !== "task") {
      const text = svg("text", { x: n.x + n.w / 2, y: n.y + 15, "text-anchor": "middle" }, `${n.name} ${n.kind}`);
      group.append(text);
      return { ...n, group };
    }
    const rate = svg("text", { x: n.x + 8, y: n.y + 31 }), drop = svg("text", { x: n.x + 8, y: n.y + 46, class: "drop" });
    const held = svg("text", { x: n.x + n.w - 7, y: n.y + 31, "text-anchor": "end", class: "soft" });
    group.append(svg("text", { x: n.x + 8, y: n.y + 16, class: "name" }, n.name), rate, held, drop);
    return { ...n, group, rate, held, drop };
  }

  /** The ring before a task, all its instances: how full the fullest is, and has ever been. */
  #tank(n) {
    const links = this.layout.edges.filter(e => e.to === n.id && e.kind === "ring").flatMap(e => e.links);
    if (links.length === 0) return null;
    const x = n.x - 13, h = n.h - 8, y = n.y + 4;
    const fill = svg("rect", { class: "fill", x, width: 8 }), mark = svg("line", { class: "mark", x1: x - 2, x2: x + 10 });
    return { links, x, y, h, fill, mark,
      group: svg("g", { "data-tank": n.id }, title(""), svg("rect", { class: "tank", x, y, width: 8, height: h, rx: 2 }), fill, mark) };
  }

  /** The newest figures. */
  update(figures) {
    const tasks = Object.fromEntries(figures.tasks.map(t => [t.name, t])), ports = Object.fromEntries(figures.ports.map(p => [p.name, p]));
    for (const band of this.bands) for (const core of band.cores) this.#updateCore(core, figures.cores[core.index]);
    for (const n of this.nodes) n.kind === "task" ? this.#updateTask(n, tasks[n.name]) : this.#updatePort(n, ports[n.name]);
    const links = this.edges.map(e => this.#measure(e, figures, ports)), most = Math.max(1, ...links.map(l => l.pps));
    this.edges.forEach((e, i) => this.#updateEdge(e, links[i], most));
    for (const tank of this.tanks) this.#updateTank(tank, figures.links);
    this.root.setAttribute("aria-label", `Pipeline of ${figures.tasks.length} tasks on ${figures.cores.length} cores; the tables below say the same`);
  }

  #updateCore(core, { busy }) {
    core.fill.setAttribute("width", 60 * busy);
    core.fill.setAttribute("class", busy > 0.95 ? "busy hot" : "busy");
    say(core.text, percent(busy));
  }

  #updateTask(n, t) {
    say(n.rate, si(t.pps, "pps"));
    say(n.held, t.held > 0 ? `held ${si(t.held)}` : "");
    say(n.drop, t.drop_pps > 0 ? `▼ ${si(t.drop_pps)}/s` : "");
    n.group.classList.toggle("dropping", t.drop_pps > 0);
    say(n.group.firstChild, `${n.name} (${n.type}): in ${si(t.pps, "pps")}, out ${si(t.out_pps, "pps")}, dropped ${si(t.drop_pps, "pps")}, holds ${si(t.held)}`);
  }

  #updatePort(n, p) {
    n.group.classList.toggle("down", !p.up);
    const way = n.kind === "rx" ? ["receives", p.rx_pps, p.rx_bps] : ["sends", p.tx_pps, p.tx_bps];
    say(n.group.firstChild, `${n.name} ${p.up ? "" : "(link is down) "}${way[0]} ${si(way[1], "pps")}, ${si(way[2], "bit/s")}`);
  }

  #measure(e, figures, ports) {
    if (e.port) return { pps: ports[e.port].rx_pps, full: 0, total: 0 };
    const links = e.links.map(i => figures.links[i]);
    return { pps: links.reduce((n, l) => n + l.pps, 0), full: links.reduce((n, l) => n + l.full_pps, 0) };
  }

  #updateEdge(e, { pps, full }, most) {
    const moving = pps > 0 ? "moving" : "idle";
    e.line.setAttribute("class", `edge ${e.kind} ${e.side ? "side" : ""} ${moving} ${full > 0 ? "full" : ""}`);
    e.line.setAttribute("stroke-width", e.side ? 1 : 1 + 3.5 * Math.sqrt(pps / most));
    say(e.line.firstChild, `${e.from} → ${e.to}${e.output && e.output !== "to" ? ` (${e.output})` : ""}: ${si(pps, "pps")}` +
      (full > 0 ? `, ${si(full, "pps")} dropped because it was full` : ""));
  }

  #updateTank(t, all) {
    const rings = t.links.map(i => all[i]), share = Math.max(...rings.map(r => r.depth / r.size)), most = Math.max(...rings.map(r => r.high_water / r.size));
    t.fill.setAttribute("height", t.h * share);
    t.fill.setAttribute("y", t.y + t.h * (1 - share));
    for (const end of ["y1", "y2"]) t.mark.setAttribute(end, t.y + t.h * (1 - most));
    say(t.group.firstChild, rings.map(r => `${r.name}: ${r.depth} of ${r.size}, most ever ${r.high_water}`).join("\n"));
  }
}
