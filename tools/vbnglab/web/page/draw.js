// SPDX-License-Identifier: BSD-3-Clause
// Elements, numbers and curves. Text goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function make(create, tag, attributes, children) {
  const element = create(tag);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
export const html = (tag, attributes, ...children) => make(t => document.createElement(t), tag, attributes, children);
export const svg = (tag, attributes, ...children) => make(t => document.createElementNS(SVG, t), tag, attributes, children);

/** Change a text only where it differs: what somebody has marked stays marked. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** 999, 1.23k, 45.6M; with a unit 1.23 kpps: three digits. */
export function si(value, what = "") {
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit < 4) { value /= 1000; unit++; }
  return (unit === 0 ? String(Math.round(value)) : value.toPrecision(3)) + (what && " ") + ["", "k", "M", "G", "T"][unit] + what;
}

export const count = value => value.toLocaleString("en-US");
export const percent = share => `${(100 * share).toFixed(share >= 0.0995 ? 0 : 1)} %`;

/** 1.2 us, 34 ms. */
export function duration(ns) {
  let value = ns / 1000, unit = 0;
  while (value >= 999.5 && unit < 2) { value /= 1000; unit++; }
  return `${Number(value.toPrecision(3))} ${["µs", "ms", "s"][unit]}`;
}

/** A curve from 0 to its greatest value, with gaps where there was nothing to read. */
export function spark(values, label, kind = "") {
  const top = Math.max(1e-9, ...values.map(v => v ?? 0)), last = 119;
  let path = "", pen = "M";
  values.forEach((v, i) => {
    if (v === null) { pen = "M"; return; }
    path += `${pen}${last - (values.length - 1) + i} ${(24 - 22 * v / top).toFixed(1)}`;
    pen = "L";
  });
  return svg("svg", { class: `spark ${kind}`, viewBox: `0 0 ${last} 26`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    svg("path", { d: path }));
}

/** An error of the shaper in percent; "–" where nobody was limited. */
export function shaped(ppm) {
  if (ppm === 0) return "–";
  const error = (ppm - 1e6) / 1e4;
  return `${error >= 0 ? "+" : "−"}${Math.abs(error).toFixed(2)} %`;
}

function sayLink(cell, href, text) {
  const link = cell.firstElementChild || cell.appendChild(html("a"));
  if (link.getAttribute("href") !== href) link.setAttribute("href", href);
  say(link, text);
}

/** Fill a table: columns [{title, cell(row) -> text, link(row) -> where it leads, number, class(row)}]. Rows keep their elements. */
export function fill(table, columns, rows, empty, key) {
  if (!table.tHead) {
    table.createTHead().append(html("tr", {}, ...columns.map(c => html("th", { scope: "col", ...(c.number ? { class: "n" } : {}) }, c.title))));
    table.append(html("tbody"));
  }
  const body = table.tBodies[0];
  if (rows.length === 0) {
    body.replaceChildren(html("tr", {}, html("td", { colspan: columns.length, class: "soft" }, empty)));
    return;
  }
  if (body.querySelector("[colspan]")) body.replaceChildren();
  while (body.rows.length > rows.length) body.lastChild.remove();
  rows.forEach((row, i) => {
    const line = body.rows[i] || body.appendChild(html("tr", {}, ...columns.map(() => html("td"))));
    line.dataset.key = key(row);
    columns.forEach((c, k) => {
      const cell = line.cells[k];
      cell.className = [c.number ? "n" : "", c.class ? c.class(row) : ""].join(" ").trim();
      if (c.value) cell.dataset.value = c.value(row);
      if (c.link) sayLink(cell, c.link(row), c.cell(row));
      else say(cell, c.cell(row));
    });
  });
}
