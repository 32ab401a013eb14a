// SPDX-License-Identifier: BSD-3-Clause
// Sessions of the control plane, vbng-cp, which may be there while the gateway is not.
import { count, duration, fill, html, percent, say, si, spark } from "./draw.js";

const byId = id => document.getElementById(id);

/** A percentile of a histogram: a bound that it is below. */
const below = (row, key) => (row.beyond.includes(key) ? "> 5 s" : row[key] === null ? "–" : `< ${duration(1e9 * row[key])}`);

const KINDS = [
  { title: "Kind", cell: k => k.kind },
  { title: "Up", number: true, cell: k => count(k.up), value: k => k.up },
  { title: "Came up/s", number: true, cell: k => si(k.begun_ps) },
  { title: "Ended/s", number: true, cell: k => si(k.ended_ps) },
];

const FAILURES = [
  { title: "Failure", cell: f => f.reason, class: f => (f.ps > 0 ? "drop" : "") },
  { title: "now", number: true, cell: f => (f.ps > 0 ? `▼ ${si(f.ps)}/s` : "0"), class: f => (f.ps > 0 ? "drop" : "") },
  { title: "since start", number: true, cell: f => count(f.total), value: f => f.total },
  { title: "What it means", cell: f => f.means },
  { title: "What to do", cell: f => f.remedy },
];

const POOLS = [
  { title: "Pool of sessions", cell: p => p.pool },
  { title: "In use", number: true, cell: p => count(p.used), value: p => p.used },
  { title: "of", number: true, cell: p => count(p.size) },
  { title: "Share", number: true, cell: p => percent(p.size ? p.used / p.size : 1), class: p => (p.used > 0.95 * p.size ? "warn" : "") },
];

const RADIUS = [
  { title: "RADIUS server", cell: r => r.server },
  { title: "State", cell: r => (r.alive ? "alive" : "DEAD"), class: r => (r.alive ? "good" : "drop") },
  { title: "Asked/s", number: true, cell: r => si(r.asked_ps) },
  { title: "p50", number: true, cell: r => below(r, "p50") },
  { title: "p99", number: true, cell: r => below(r, "p99") },
  { title: "Under way", number: true, cell: r => count(r.pending) },
  { title: "Timeouts", number: true, cell: r => count(r.timeouts), class: r => (r.timeouts > 0 ? "warn" : "") },
];

const RELAYS = [
  { title: "DHCP server", cell: r => r.server },
  { title: "State", cell: r => (r.alive ? "alive" : "DEAD"), class: r => (r.alive ? "good" : "drop") },
  { title: "Sent/s", number: true, cell: r => si(r.sent_ps) },
  { title: "Heard/s", number: true, cell: r => si(r.answers_ps) },
  { title: "p50", number: true, cell: r => below(r, "p50") },
  { title: "p99", number: true, cell: r => below(r, "p99") },
  { title: "Unanswered", number: true, cell: r => count(r.unanswered), class: r => (r.unanswered > 0 ? "warn" : "") },
  { title: "Deaths", number: true, cell: r => count(r.deaths), class: r => (r.deaths > 0 ? "warn" : "") },
];

function show(figures) {
  const total = figures.kinds.reduce((sum, kind) => sum + kind.begun_ps, 0);
  byId("session-rate").replaceChildren(html("dt", {}, "came up"), html("div", {}, spark(figures.curve, "sessions that came up per second")), html("dd", {}, `${si(total)}/s`));
  say(byId("session-lines"), `Lines: ${figures.lines.map(l => `${l.state} ${count(l.lines)}`).join(", ")}.${
    figures.store.map(s => ` Store: ${count(s.commits)} commits, p50 ${below(s, "p50")}, p99 ${below(s, "p99")}.`).join("")}`);
  fill(byId("session-table"), KINDS, figures.kinds, "There are none.", k => k.kind);
  fill(byId("failure-table"), FAILURES, figures.failures, "Nothing has failed.", f => f.reason);
  fill(byId("session-pool-table"), POOLS, figures.pools, "There are none.", p => p.pool);
  byId("radius-table").hidden = figures.radius.length === 0;
  fill(byId("radius-table"), RADIUS, figures.radius, "There are none.", r => r.server);
  byId("relay-table").hidden = figures.relays.length === 0;
  fill(byId("relay-table"), RELAYS, figures.relays, "There are none.", r => r.server);
}

/** The newest figures; nothing is shown where no vbng-cp is known. */
export async function sessions() {
  const answer = await fetch("api/sessions", { signal: AbortSignal.timeout(10000) });
  const { known, error, figures } = await answer.json();
  for (const element of document.querySelectorAll("#sessions, a[href='#sessions']")) element.hidden = !known;
  byId("sessions").dataset.state = error ? "gone" : figures ? "live" : "waiting";
  say(byId("session-status"), error ? `vbng-cp does not answer: ${error}` : figures ? "" : "waiting for a second reading");
  if (figures) show(figures);
}
