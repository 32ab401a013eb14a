// SPDX-License-Identifier: BSD-3-Clause
// A page of the subscribers: the server searches, sorts and cuts.
import { count, duration, fill, html, say, shaped, si } from "./draw.js";

const byId = id => document.getElementById(id);

const off = ppm => (ppm !== 0 && Math.abs(ppm - 1e6) > 10000 ? "warn" : "");

function way(name, drops) {
  const columns = [
    { title: `${name} bit/s`, number: true, cell: s => si(s[`${name}_bps`]), sort: "rate" },
    { title: "of", number: true, cell: s => si(s[`${name}_rate`]) },
    { title: "delay", number: true, cell: s => (s[`${name}_packets`] > 0 ? duration(s[`${name}_sojourn_ns`]) : "–"), sort: "delay" },
    { title: "error", number: true, cell: s => shaped(s[`${name}_shaped_ppm`]), class: s => off(s[`${name}_shaped_ppm`]), sort: "error" },
  ];
  if (drops) {
    columns.push({ title: "drops/s", number: true, cell: s => si(s[`${name}_drop_pps`]), class: s => (s[`${name}_drop_pps`] > 0 ? "drop" : ""), sort: "drops" },
      { title: "dropped", number: true, cell: s => count(s[`${name}_drops`]), value: s => s[`${name}_drops`], sort: "dropped" });
  }
  return columns;
}

export class Subscribers {
  constructor() {
    this.sort = "rate";
    this.page = 0;
    this.table = byId("subscriber-table");
    byId("search-form").addEventListener("submit", event => event.preventDefault());
    byId("search").addEventListener("input", () => this.#go(0));
    byId("first").addEventListener("click", () => this.#go(0));
    byId("previous").addEventListener("click", () => this.#go(this.page - 1));
    byId("next").addEventListener("click", () => this.#go(this.page + 1));
  }

  #go(page) {
    this.page = page;
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.refresh(), 150);
  }

  #head(drops) {
    this.columns = [{ title: "id", number: true, cell: s => String(s.id), sort: "id" }, { title: "subscriber", cell: s => s.name, link: s => `subscriber.html?id=${s.id}` }, { title: "name", cell: s => s.label }, ...way("up", drops),
      ...way("down", drops)];
    this.drops = drops;
    this.sorts = [];
    const cells = this.columns.map(c => {
      const cell = html("th", { scope: "col", ...(c.number ? { class: "n" } : {}) }, c.sort ? "" : c.title);
      if (c.sort) {
        const button = html("button", { type: "button", "data-sort": c.sort, title: c.sort === "id" ? "sort by id" : `sort by ${c.sort}, up and down together` }, c.title);
        button.addEventListener("click", () => { this.sort = c.sort; this.#go(0); });
        cell.append(button);
        this.sorts.push([cell, c.sort]);
      }
      return cell;
    });
    this.table.replaceChildren(html("thead", {}, html("tr", {}, ...cells)), html("tbody"));
  }

  /** Ask for the page that is shown. An answer to an older question is not shown. */
  async refresh() {
    const question = new URLSearchParams({ sort: this.sort, page: this.page, search: byId("search").value });
    this.asked = String(question);
    const answer = await fetch(`api/subscribers?${question}`);
    const found = await answer.json();
    if (this.asked !== String(question)) return;
    if (!answer.ok) {
      say(byId("subscriber-note"), found.error);
      return;
    }
    if (this.drops !== found.drops) this.#head(found.drops);
    for (const [cell, sort] of this.sorts) {
      if (sort === this.sort) cell.setAttribute("aria-sort", sort === "id" ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    }
    fill(this.table, this.columns, found.rows, "Nobody is found.", s => s.name);
    this.#pages(found);
  }

  #pages({ total, size, note }) {
    const last = Math.max(0, Math.ceil(total / size) - 1);
    say(byId("found"), `${count(total)} subscriber${total === 1 ? "" : "s"}`);
    say(byId("page"), `page ${count(this.page + 1)} of ${count(last + 1)}`);
    byId("first").disabled = byId("previous").disabled = this.page === 0;
    byId("next").disabled = this.page >= last;
    say(byId("subscriber-note"), note || "Rates and drops of the last second. Error: delivered against the rate of the profile, of who was limited during all of it.");
  }
}
