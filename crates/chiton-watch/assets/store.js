// All runs and questions, as the server last told of them.

import { stream, greet } from "./api.js";

const runs = new Map();
const listeners = new Set();

export const store = {
  /** What needs a person first, then what runs, then what has ended; the newest of each first. */
  ordered: [],
  approvals: [],
  unlisted: 0,
  /** Whether anything was told yet. */
  told: false,
  connection: "connecting",
  get: (id) => runs.get(id),
  /** The time of the server. */
  now: () => Date.now() + offset,
  /** Calls back after each change. */
  watch(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

let offset = 0;

const rank = (run) => (run.wait ? 0 : run.took_ms === null ? 1 : 2);
const moment = (run) => run.started_ms + (run.took_ms ?? 0);

function compare(one, other) {
  return rank(one) - rank(other) || moment(other) - moment(one) || (one.id < other.id ? -1 : 1);
}

function tell() {
  for (const listener of listeners) listener();
}

function take(news) {
  offset = news.now_ms - Date.now();
  if (news.whole) runs.clear();
  for (const run of news.runs) runs.set(run.id, run);
  for (const id of news.gone) runs.delete(id);
  if (news.approvals) store.approvals = news.approvals;
  store.ordered = [...runs.values()].sort(compare);
  store.unlisted = news.unlisted;
  store.told = true;
  store.connection = "live";
  tell();
}

/** Begins to listen. `failed` is told why the server does not talk to us. */
export function begin(greeted, failed) {
  const say = () => greet().then(greeted, failed);
  const listen = () => stream("/api/events", { news: take }, {
    onpause() {
      store.connection = "reconnecting";
      tell();
      say().then(tell);
    },
  });
  // What a person may do here is known before anything is shown.
  say().then(listen);
}
