// SPDX-License-Identifier: BSD-3-Clause
// Asks for the newest figures once in a period, and says honestly when there are none.
import { say } from "./draw.js";
import { Graph } from "./graph.js";
import { hour } from "./hour.js";
import { sessions } from "./sessions.js";
import { Subscribers } from "./subscribers.js";
import { update } from "./tables.js";

const graph = new Graph(document.getElementById("graph")), subscribers = new Subscribers();
let plan = 0, shown = 0, period = 1;

async function get(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(10000) });
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}

const clock = at => new Date(at * 1000).toLocaleTimeString();
const seconds = age => (age < 90 ? `${Math.round(age)} s` : `${Math.round(age / 60)} min`);

function status(state, text) {
  document.body.dataset.state = state;
  say(document.getElementById("status"), text);
}

/** Live, stale (nothing new for three periods) or gone. What is shown then is old, and is greyed. */
function judge({ error, age, figures }) {
  const old = age === null ? "nothing has been read yet" : `figures of ${clock(figures.at)}, ${seconds(age)} old`;
  if (error) status("gone", `disconnected: ${error} (${old})`);
  else if (age === null) status("waiting", "connected: waiting for a second reading");
  else if (age > 3 * period + 1) status("stale", `stale: vbng does not answer (${old})`);
  else status("live", `live, ${clock(figures.at)}`);
}

async function show(state) {
  period = state.period;
  if (state.plan !== plan) {
    const planned = await get("api/plan");
    graph.draw(planned);
    plan = planned.number;
    say(document.getElementById("name"), planned.plan.name);
    document.title = `vbng ${planned.plan.name}`;
  }
  if (state.figures && state.figures.at !== shown && state.plan === plan) {
    graph.update(state.figures);
    update(state.figures);
    await subscribers.refresh();
    shown = state.figures.at;
  }
}

async function tick() {
  try {
    if (!document.hidden || shown === 0) {
      const state = await get("api/state");
      judge(state);
      await sessions();
      await show(state);
    }
  } catch (error) {
    status("gone", `disconnected: vbng-web does not answer (${error.message})`);
  }
  setTimeout(tick, 1000 * period);
}

hour();
tick();
