// SPDX-License-Identifier: BSD-3-Clause
// A subscriber's own page: what it gets now, two minutes of it, and an hour.
import { chart, steps } from "./chart.js";
import { count, duration, fill, html, say, shaped, si } from "./draw.js";

const byId = id => document.getElementById(id);
const id = new URLSearchParams(location.search).get("id") || "";
const WAYS = ["up", "down"], MINUTES = 120, HOUR = 3600;
let period = 1;

function status(state, text) {
  document.body.dataset.state = state;
  say(byId("status"), text);
}

/** The three figures: rate against the profile's, delay, drops. */
function charts(curves, seconds, span, { figures, drops }) {
  const both = key => WAYS.map(way => ({ name: way, seconds, values: curves[`${way}_${key}`] }));
  const may = WAYS.map(way => figures[`${way}_rate`]);
  const limits = may[0] === may[1] ? [{ name: "profile", value: may[0] }] : WAYS.map((way, i) => ({ name: `profile, ${way}`, value: may[i] }));
  return [chart("Rate", both("bps"), { span, unit: v => si(v, "bit/s"), limits }),
    chart("Delay in the queue", both("sojourn_ns"), { span, unit: duration }),
    ...(drops ? [chart("Drops", both("drop_pps"), { span, unit: v => si(v, "pps") })] : [])];
}

const ROWS = [
  ["Rate, last second", "bps", v => si(v, "bit/s")], ["Rate of the profile", "rate", v => si(v, "bit/s")],
  ["Delay in the queue", "sojourn_ns", duration], ["Error of the shaper, where limited", "shaped_ppm", shaped],
  ["Bytes sent", "bytes", count], ["Packets sent", "packets", count], ["Packets dropped", "drops", count],
];
const COLUMNS = [{ title: "", cell: r => r.words }, ...WAYS.map(way => ({ title: way, number: true, cell: r => r.write(r[way]), value: r => r[way] }))];

function show(s) {
  period = s.period;
  say(byId("name"), `${s.label ? `${s.label}, ` : ""}${s.name} (id ${s.id})`);
  document.title = `${s.label || s.name} · subscriber`;
  const f = s.figures;
  byId("totals").replaceChildren(...WAYS.flatMap(way => html("div", {}, html("dt", {}, way),
    html("dd", { class: s.limited[way] ? "warn" : "" }, `${si(f[`${way}_bps`], "bit/s")}${s.limited[way] ? ", at the limit" : ""}`))));
  byId("recent").replaceChildren(...charts(s.recent, s.recent.seconds, MINUTES, s));
  byId("past").replaceChildren(...charts(s.hour, steps(s.hour.up_bps, s.hour.step), HOUR, s));
  fill(byId("figures"), COLUMNS, ROWS.filter(([, key]) => f[`up_${key}`] !== undefined).map(([words, key, write]) =>
    ({ words, write, key, up: f[`up_${key}`], down: f[`down_${key}`] })), "", r => r.key);
  status("live", `live, ${new Date().toLocaleTimeString()}`);
}

async function tick() {
  try {
    if (!document.hidden || byId("name").textContent === "") {
      const answer = await fetch(`api/subscriber?${new URLSearchParams({ id })}`, { signal: AbortSignal.timeout(10000) });
      const value = await answer.json();
      if (answer.ok) show(value);
      else status("gone", answer.status === 503 ? `disconnected: ${value.error}` : value.error);
    }
  } catch (error) {
    status("gone", `disconnected: vbng-web does not answer (${error.message})`);
  }
  setTimeout(tick, 1000 * period);
}

tick();
