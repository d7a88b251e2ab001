// The page: which view is shown, and what the keys do there.

import { turn } from "./theme.js";
import { ApprovalsView } from "./approvals.js";
import { ChartsView } from "./charts.js";
import { byId, setText, speak } from "./dom.js";
import { JournalView } from "./journal.js";
import { bind, help } from "./keys.js";
import { RunList } from "./list.js";
import { RunView } from "./run.js";
import { begin, store } from "./store.js";
import { endOf, oneLine } from "./words.js";

// The view follows at once: a key that comes next is meant for it.
const go = (place) => {
  if (location.hash !== place) location.hash = place;
  route();
};

const run = new RunView(() => go("#/runs"));
// Moving through the list shows a run beside it where there is room, and nothing where there is none.
const isWide = matchMedia("(min-width: 800px)");
const list = new RunList(
  (id) => isWide.matches && go(`#/runs/${id}`),
  (id) => {
    go(`#/runs/${id}`);
    run.focus();
  },
);
const views = { approvals: new ApprovalsView(), journal: new JournalView(), charts: new ChartsView() };

let shown;

function route() {
  if (location.hash === shown) return;
  shown = location.hash;
  const [view = "runs", id] = location.hash.replace(/^#\//u, "").split("/").filter(Boolean);
  const name = view in views ? view : "runs";
  for (const section of document.querySelectorAll(".view")) section.hidden = section.dataset.view !== name;
  for (const link of document.querySelectorAll(".views a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const chosen = name === "runs" && /^shell_[0-9a-f]{8}$/u.test(id ?? "") ? id : undefined;
  byId("view-runs").classList.toggle("has-chosen", chosen !== undefined);
  run.show(chosen);
  if (chosen) list.mark(chosen);
  views[name]?.show?.();
}

/** Leaves what is open, one thing at a time. */
function back() {
  const filter = byId("filter");
  if (document.activeElement === filter && filter.value !== "") {
    filter.value = "";
    list.refresh();
  } else if (document.activeElement?.matches("input")) {
    document.activeElement.blur();
    list.focus();
  } else if (location.hash.startsWith("#/runs/")) {
    go("#/runs");
    list.focus();
  } else {
    go("#/runs");
    list.focus();
  }
}

function search() {
  if (location.hash.startsWith("#/journal")) {
    views.journal.focus();
    return;
  }
  if (!isWide.matches || !location.hash.startsWith("#/runs")) go("#/runs");
  byId("filter").focus();
  byId("filter").select();
}

const open = () => {
  if (!list.chosen || document.activeElement?.matches("button, a, summary")) return false;
  go(`#/runs/${list.chosen}`);
  run.focus();
  return true;
};

const KEYS = [
  [["j"], "the next run", () => list.move(1)],
  [["k"], "the run before", () => list.move(-1)],
  [["Enter"], "open it", open],
  [["Escape"], "back", back],
  [["/"], "filter or search", search],
  [["e"], "the next error in the output", () => run.nextError(1)],
  [["E"], "the error before", () => run.nextError(-1)],
  [["f"], "follow the output, or stay", () => run.follow()],
  [["w"], "wrap long lines, or not", () => run.wrap()],
  [["i"], "take over the terminal", () => run.takeOver()],
  [["x"], "stop the run", () => run.stop()],
  [["1"], "runs", () => go("#/runs")],
  [["2"], "approvals", () => go("#/approvals")],
  [["3"], "journal", () => go("#/journal")],
  [["4"], "charts", () => go("#/charts")],
  [["t"], "light, dark, or as the system", turn],
  [["?"], "this list", () => help(KEYS)],
];

bind(KEYS);
byId("help").addEventListener("click", () => help(KEYS));
window.addEventListener("hashchange", route);

let waiting = new Set();

store.watch(() => {
  const connection = byId("connection");
  connection.className = `connection ${store.connection}`;
  setText(connection, { live: "live", reconnecting: "reconnecting …", connecting: "connecting …" }[store.connection]);
  const now = new Set(store.ordered.filter((one) => one.wait).map((one) => one.id));
  for (const id of now) if (!waiting.has(id)) speak(`${oneLine(store.get(id).command).slice(0, 80)} waits for you`);
  waiting = now;
  const needs = now.size + store.approvals.length;
  document.title = needs > 0 ? `(${needs}) Chiton` : "Chiton";
});

begin(
  (hello) => {
    setText(byId("place"), endOf(hello.state_directory, 48));
    byId("place").title = hello.state_directory;
    setText(byId("mode"), hello.control ? "control" : "read-only");
    byId("mode").title = hello.control ? "You can act on this page" : "This page only shows; chiton ui --control lets it act";
  },
  (error) => setText(byId("connection"), error.name === "TypeError" ? "the server is not there" : error.message),
);

route();
