// SPDX-License-Identifier: BSD-3-Clause
// Ports, schedulers, drops, links, pools and the ledger.
import { count, duration, fill, html, percent, si, spark } from "./draw.js";

const KINDS = ["direct call", "ring", "port"];
const byId = id => document.getElementById(id);

function card(name, state, lines) {
  const list = lines.flatMap(([term, curve, text, kind = ""]) => [html("dt", {}, term), html("div", {}, curve), html("dd", { class: kind }, text)]);
  return html("div", { class: "card", "data-key": name }, html("h3", {}, name, state), html("dl", {}, ...list));
}

function ports(figures) {
  byId("port-cards").replaceChildren(...figures.ports.map(p => card(p.name,
    html("span", { class: p.up ? "good" : "drop" }, p.up ? "link up" : "LINK DOWN"), [
      ["rx", spark(p.curves.rx_pps, `received by ${p.name}, packets per second`), `${si(p.rx_pps, "pps")}  ${si(p.rx_bps, "bit/s")}`],
      ["tx", spark(p.curves.tx_pps, `sent by ${p.name}, packets per second`, "b"), `${si(p.tx_pps, "pps")}  ${si(p.tx_bps, "bit/s")}`],
      ["lost", "", p.lost_pps > 0 ? `▼ ${si(p.lost_pps)}/s` : count(p.lost), p.lost_pps > 0 ? "drop" : ""],
    ])));
}

function schedulers(figures) {
  byId("qos").hidden = figures.qos.length === 0;
  byId("qos-cards").replaceChildren(...figures.qos.map(q => card(q.name, html("span", {}, `holds ${si(q.held)}`), [
    ["lag p99", spark(q.curves.lag_p99_ns, `lag of ${q.name}, 99th percentile`), duration(q.lag_p99_ns)],
    ["worst error", spark(q.curves.error_ppm, `shaping error of ${q.name}`, "b"), q.limited > 0 ? `${(q.error_ppm / 1e4).toFixed(3)} %` : "none limited",
      q.error_ppm > 10000 ? "warn" : ""],
    ["p50 / max", "", `${duration(q.lag_p50_ns)} / ${duration(q.lag_max_ns)}`],
    ["limited", "", `${count(q.limited)} (${count(q.under)} slow, ${count(q.over)} fast)`, q.under + q.over > 0 ? "warn" : ""],
  ])));
}

const DROPS = [
  { title: "Task", cell: d => d.task },
  { title: "Reason", cell: d => d.reason, class: d => (d.pps > 0 ? "drop" : "") },
  { title: "now", number: true, cell: d => (d.pps > 0 ? `▼ ${si(d.pps)}/s` : "0"), class: d => (d.pps > 0 ? "drop" : "") },
  { title: "since start", number: true, cell: d => count(d.total), value: d => d.total },
  { title: "What it means", cell: d => d.means },
  { title: "What to do", cell: d => d.remedy },
];

const LINKS = [
  { title: "Link", cell: l => l.name },
  { title: "Kind", cell: l => KINDS[l.kind] },
  { title: "Packets/s", number: true, cell: l => si(l.pps) },
  { title: "Dropped, full", number: true, cell: l => count(l.full), class: l => (l.full_pps > 0 ? "drop" : "") },
  { title: "Depth", number: true, cell: l => (l.size ? count(l.depth) : "–") },
  { title: "Most ever", number: true, cell: l => (l.size ? count(l.high_water) : "–"), class: l => (l.size && l.high_water > 0.9 * l.size ? "warn" : "") },
  { title: "Size", number: true, cell: l => (l.size ? count(l.size) : "–") },
];

const POOLS = [
  { title: "Pool", cell: p => p.name },
  { title: "mbufs", number: true, cell: p => count(p.size) },
  { title: "Free", number: true, cell: p => count(p.free) },
  { title: "In use", number: true, cell: p => percent(1 - p.free / p.size), class: p => (p.free < 0.05 * p.size ? "warn" : "") },
];

const LEDGER = [
  { title: "Packets", cell: r => r[0] },
  { title: "since start", number: true, cell: r => count(r[1]), value: r => r[1] },
  { title: "per second", number: true, cell: r => (r[2] === undefined ? "" : si(r[2])) },
];

const DIRECTIONS = [
  { title: "Direction", cell: d => d.direction },
  { title: "Family", cell: d => d.family },
  { title: "Packets/s", number: true, cell: d => si(d.pps) },
  { title: "bit/s of IP", number: true, cell: d => si(d.bps) },
  { title: "Packets since start", number: true, cell: d => count(d.packets), value: d => d.packets },
  { title: "Bytes since start", number: true, cell: d => count(d.bytes), value: d => d.bytes },
];

function ledger({ ledger: l }) {
  const rows = ["received", "created", "sent", "consumed", "dropped"].map(key => [key, l[key], l.rates[key]]);
  fill(byId("ledger-table"), LEDGER, [...rows, ["held", l.held], ["under way", l.under_way]], "", r => r[0]);
  const total = [["received", l.rates.received + l.rates.created, ""], ["sent", l.rates.sent + l.rates.consumed, ""], ["dropped", l.rates.dropped, "drop"]];
  byId("totals").replaceChildren(...total.map(([term, value, kind]) => html("div", {}, html("dt", {}, term), html("dd", { class: value > 0 ? kind : "" }, si(value, "pps")))),
    html("div", {}, html("dt", {}, "held"), html("dd", {}, si(l.held))));
}

/** The newest figures. */
export function update(figures) {
  ports(figures);
  schedulers(figures);
  fill(byId("drop-table"), DROPS, figures.drops, "Nothing has been dropped.", d => `${d.task} ${d.reason}`);
  fill(byId("link-table"), LINKS, figures.links, "There are none.", l => l.name);
  fill(byId("pool-table"), POOLS, figures.pools, "There are none.", p => p.name);
  fill(byId("direction-table"), DIRECTIONS, figures.directions, "There are none.", d => `${d.direction} ${d.family}`);
  ledger(figures);
}
