// SPDX-License-Identifier: BSD-3-Clause
// Charts with an axis of time, and bars.
import { html, svg } from "./draw.js";

const W = 420, H = 110, LEFT = 62, RIGHT = 8, TOP = 8, BOTTOM = 18;
const KINDS = ["a", "b", "c"];

function ago(seconds) {
  if (seconds === 0) return "now";
  return seconds >= 120 ? `−${Math.round(seconds / 60)} min` : `−${Math.round(seconds)} s`;
}

/** A path through points [x, y]; y null: a gap. A point between two gaps is a dot. */
function line(points) {
  let path = "", pen = "M";
  points.forEach(([x, y], i) => {
    if (y === null) { pen = "M"; return; }
    path += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    if (pen === "M" && (i + 1 === points.length || points[i + 1][1] === null)) path += "h.1";
    pen = "L";
  });
  return path;
}

/**
 * A figure of curves over the last seconds. curves: [{name, seconds: [-n .. 0], values: [number or null]}]; unit(value) writes a value;
 * limits: [{name, value}], drawn as lines; top: of the axis, or at least the greatest value.
 */
export function chart(title, curves, { span, unit, limits = [], top = 0 }) {
  const known = curves.flatMap(c => c.values.filter(v => v !== null && v !== undefined));
  const most = Math.max(top, ...known, ...(known.length > 0 ? limits.map(l => l.value) : []), 1e-9);
  const x = s => LEFT + (W - LEFT - RIGHT) * (1 + s / span), y = v => TOP + (H - TOP - BOTTOM) * (1 - v / most);
  const parts = [0, 0.5, 1].flatMap(part => [svg("path", { class: "grid", d: `M${LEFT} ${y(part * most)}H${W - RIGHT}` }),
    svg("text", { x: LEFT - 4, y: y(part * most) + 4, "text-anchor": "end" }, unit(part * most))]);
  for (const part of [1, 0.5, 0])
    parts.push(svg("text", { x: x(-part * span), y: H - 4, "text-anchor": ["end", "middle", "start"][2 * part] }, ago(part * span)));
  for (const limit of limits.filter(l => l.value > 0 && known.length > 0))
    parts.push(svg("path", { class: "limit", d: `M${LEFT} ${y(limit.value)}H${W - RIGHT}` }, svg("title", {}, `${limit.name}: ${unit(limit.value)}`)));
  curves.forEach((c, i) => parts.push(svg("path", { class: `curve ${KINDS[i % 3]}`, "data-points": c.values.filter(v => v !== null).length,
    d: line(c.seconds.map((s, k) => [x(s), c.values[k] ?? null])
      .map(([a, v]) => [a, v === null ? null : y(v)])) }, svg("title", {}, c.name))));
  const last = c => [...c.values].reverse().find(v => v !== null && v !== undefined);
  const legend = curves.map((c, i) => html("span", {}, html("i", { class: KINDS[i % 3] }), `${c.name} ${last(c) === undefined ? "–" : unit(last(c))}`));
  const named = limits.filter(l => l.value > 0).map(l => html("span", {}, html("i", { class: "l" }), `${l.name} ${unit(l.value)}`));
  return html("figure", { "data-key": title }, html("figcaption", {}, html("b", {}, title), ...legend, ...named),
    known.length > 0 ? svg("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": title }, ...parts)
      : html("p", { class: "soft" }, "Nothing has been read yet."));
}

/** Times of the values of a curve with a value for each step, the last of them now. */
export const steps = (values, step) => values.map((_, i) => step * (i + 1 - values.length));

/** Bars with a text before and behind each: [{name, value, kind}]. */
export function bars(title, rows, write) {
  const most = Math.max(1, ...rows.map(r => r.value));
  return html("div", { class: "card", "data-key": title }, html("h3", {}, title), html("div", { class: "bars" }, ...rows.flatMap(r => [
    html("span", {}, r.name), svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: r.kind || "", width: (100 * r.value / most).toFixed(2), height: 10 })), html("span", { class: `n ${r.kind || ""}` }, write(r.value))])));
}
