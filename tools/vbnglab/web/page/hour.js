// SPDX-License-Identifier: BSD-3-Clause
// The last hour, and the distribution of the subscribers: asked for while they are looked at.
import { bars, chart, steps } from "./chart.js";
import { count, duration, fill, html, percent, say, si } from "./draw.js";

const byId = id => document.getElementById(id);
const HOUR = 3600;
const packets = v => si(v, "pps"), bits = v => si(v, "bit/s");

// title of a curve's key, and how its values are written; of a kind: the groups of keys that share a figure
const KINDS = {
  gateway: [{ title: () => "All packets", keys: { received: "received", sent: "sent", dropped: "dropped" }, unit: packets }],
  port: [{ title: name => name, keys: { rx_bps: "rx", tx_bps: "tx" }, unit: bits }],
  core: [{ title: name => `core ${name}`, keys: { busy: "busy" }, unit: percent, top: 1 }],
  qos: [{ title: name => `${name}: lag`, keys: { lag_p99_ns: "p99, greatest" }, unit: duration },
    { title: name => `${name}: subscribers at their limit`, keys: { limited: "limited" }, unit: v => count(Math.round(v)) }],
  drops: [{ title: name => name, keys: null, unit: packets }],
};

async function get(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(30000) });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}

/** Ask for a section again and again, but only while somebody looks at it. show() returns the seconds until the next time. */
function whileSeen(section, show) {
  let seen = false, timer;
  const again = async () => {
    clearTimeout(timer);
    let wait = 5;
    if (seen && !document.hidden) {
      try { wait = await show(); } catch { /* the status says that nothing answers */ }
    }
    timer = setTimeout(again, 1000 * wait);
  };
  new IntersectionObserver(entries => { seen = entries.at(-1).isIntersecting; if (seen) again(); }).observe(section);
  return again;
}

async function showHour() {
  const { kind, step, of } = await get(`api/history?kind=${byId("hour-kind").value}`);
  const figures = Object.entries(of).flatMap(([name, all]) => KINDS[kind].map(({ title, keys, unit, top }) => {
    const curves = Object.entries(keys || Object.fromEntries(Object.keys(all).map(k => [k, k])))
      .map(([key, words]) => ({ name: words, values: all[key], seconds: steps(all[key], step) }));
    return chart(title(name), curves, { span: HOUR, unit, top });
  }));
  byId("hour-charts").replaceChildren(...(figures.length > 0 ? figures : [html("p", { class: "soft" }, "There is nothing of that.")]));
  return step;
}

/** Names of groups with these upper bounds. */
const groups = (bounds, write) => [...bounds.map((b, i) => (i === 0 ? "none" : `up to ${write(b)}`)), `more than ${write(bounds.at(-1))}`];

const LIMITED = [
  { title: "id", number: true, cell: s => String(s.id) },
  { title: "subscriber", cell: s => s.name, link: s => `subscriber.html?id=${s.id}` },
  { title: "", cell: s => s.way },
  { title: "bit/s", number: true, cell: s => si(s.bps) },
  { title: "of", number: true, cell: s => si(s.rate) },
  { title: "delay", number: true, cell: s => duration(s.sojourn_ns) },
  { title: "drops/s", number: true, cell: s => si(s.drop_pps), class: s => (s.drop_pps > 0 ? "drop" : "") },
];

async function showDistribution() {
  const d = await get("api/distribution");
  const rates = groups(d.shares, percent), delays = groups(d.delays, duration);
  byId("distribution-cards").replaceChildren(...Object.entries(d.ways).flatMap(([way, w]) => [
    bars(`${way}: of their rate`, w.shares.map((value, i) => ({ name: rates[i], value, kind: i === d.shares.length ? "warn" : "" })), count),
    bars(`${way}: delay`, w.delays.map((value, i) => ({ name: delays[i], value })), count)]));
  say(byId("distribution-note"), `Of ${count(d.total)} subscribers ${Object.entries(d.ways).map(([way, w]) =>
    `${count(w.limited)} ${way}stream`).join(" and ")} are at their limit: ` +
    `held back by the shaper during all of the last second, or used more than ${percent(d.shares.at(-1))} of their rate` +
    (d.drops ? `, or packets were dropped, as of ${Object.entries(d.ways).map(([way, w]) => `${count(w.dropping)} ${way}stream`).join(" and ")}.` : "."));
  fill(byId("limited-table"), LIMITED, d.limited, "Nobody is at the limit.", s => `${s.way} ${s.name}`);
  return d.again;
}

/** Begin. */
export function hour() {
  const again = whileSeen(byId("hour"), showHour);
  byId("hour-kind").addEventListener("change", again);
  whileSeen(byId("distribution"), showDistribution);
}
