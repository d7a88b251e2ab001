// The list of runs. Only the rows that can be seen exist, however many runs there are.

import { byId, el, setText } from "./dom.js";
import { store } from "./store.js";
import { ago, bytes, endOf, number, oneLine, span, state } from "./words.js";

const ROW = 54;
const AROUND = 6;

const KINDS = [
  ["all", "All", () => true],
  ["waiting", "Waiting", (run) => run.wait !== null],
  ["running", "Running", (run) => run.took_ms === null],
  ["failed", "Failed", (run) => state(run).kind === "badly"],
];

export class RunList {
  #list = byId("list");
  #filter = byId("filter");
  #chips = byId("chips");
  #space = el("div", { class: "space", role: "presentation" });
  #rows = new Map();
  #kind = "all";
  #shown = [];
  #chosen;
  #choose;
  #open;

  /** `choose` is told which run is looked at, `open` that it is to be opened. */
  constructor(choose, open) {
    this.#choose = choose;
    this.#open = open;
    this.#list.append(this.#space);
    this.#list.addEventListener("scroll", () => this.#draw(), { passive: true });
    this.#list.addEventListener("keydown", (event) => this.#key(event));
    this.#filter.addEventListener("input", () => this.refresh());
    this.#filter.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") {
        event.preventDefault();
        this.focus();
      }
    });
    for (const [kind, words] of KINDS) {
      const chip = el("button", { type: "button", class: "chip", "aria-pressed": String(kind === "all"), onclick: () => this.#pick(kind) },
        el("span", { text: words }), el("span", { class: "number" }));
      this.#chips.append(chip);
    }
    new ResizeObserver(() => this.#draw()).observe(this.#list);
    store.watch(() => this.refresh());
    setInterval(() => this.#draw(), 1000);
  }

  /** The run that is looked at. */
  get chosen() {
    return this.#chosen;
  }

  focus() {
    this.#list.focus({ preventScroll: true });
    if (!this.#chosen) this.move(1);
  }

  /** Marks a run as the one that is looked at, without telling anybody. */
  mark(id) {
    this.#chosen = id;
    this.#reveal();
    this.#draw();
  }

  /** Goes down or up by so many. */
  move(step) {
    if (this.#shown.length === 0) return;
    const now = this.#shown.findIndex((run) => run.id === this.#chosen);
    const next = now < 0 ? 0 : Math.min(this.#shown.length - 1, Math.max(0, now + step));
    this.mark(this.#shown[next].id);
    this.#choose(this.#chosen);
  }

  /** Takes in what has changed. */
  refresh() {
    const words = this.#filter.value.toLowerCase().split(/\s+/u).filter(Boolean);
    const fits = KINDS.find(([kind]) => kind === this.#kind)[2];
    const found = words.length === 0 ? store.ordered : store.ordered.filter((run) => words.every((word) => matches(run, word)));
    KINDS.forEach(([, , counts], place) => {
      const count = found.filter(counts).length;
      setText(this.#chips.children[place].lastChild, number(count));
    });
    this.#shown = this.#kind === "all" ? found : found.filter(fits);
    this.#space.style.height = `${this.#shown.length * ROW}px`;
    const unlisted = byId("unlisted");
    unlisted.hidden = store.unlisted === 0;
    setText(unlisted, `${number(store.unlisted)} older runs are not listed here; chiton ps --all has them.`);
    this.#draw();
  }

  #pick(kind) {
    this.#kind = kind;
    [...this.#chips.children].forEach((chip, place) => chip.setAttribute("aria-pressed", String(KINDS[place][0] === kind)));
    this.#list.scrollTop = 0;
    this.refresh();
  }

  #key(event) {
    const page = Math.max(1, Math.floor(this.#list.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.move(steps[event.key]);
    else if (event.key === "Enter" && this.#chosen) this.#open(this.#chosen);
    else return;
    event.preventDefault();
  }

  #reveal() {
    const place = this.#shown.findIndex((run) => run.id === this.#chosen);
    if (place < 0) return;
    const { scrollTop, clientHeight } = this.#list;
    if (place * ROW < scrollTop) this.#list.scrollTop = place * ROW;
    else if ((place + 1) * ROW > scrollTop + clientHeight) this.#list.scrollTop = (place + 1) * ROW - clientHeight;
  }

  #draw() {
    const { scrollTop, clientHeight } = this.#list;
    if (clientHeight === 0) return;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - AROUND);
    const last = Math.min(this.#shown.length, Math.ceil((scrollTop + clientHeight) / ROW) + AROUND);
    const kept = new Set();
    for (let place = first; place < last; place += 1) {
      const run = this.#shown[place];
      kept.add(run.id);
      let row = this.#rows.get(run.id);
      if (!row) {
        row = new Row(run.id, (id) => this.#click(id));
        this.#rows.set(run.id, row);
        this.#space.append(row.element);
      }
      row.show(run, place, this.#shown.length, run.id === this.#chosen);
    }
    for (const [id, row] of this.#rows) {
      if (kept.has(id)) continue;
      row.element.remove();
      this.#rows.delete(id);
    }
    const isThere = this.#chosen && this.#rows.has(this.#chosen);
    if (isThere) this.#list.setAttribute("aria-activedescendant", `row-${this.#chosen}`);
    else this.#list.removeAttribute("aria-activedescendant");
    this.#list.classList.toggle("is-empty", store.told && this.#shown.length === 0);
    this.#list.dataset.empty = store.ordered.length === 0 ? "Nothing has run yet. What runs appears here by itself." : "No run fits.";
  }

  #click(id) {
    this.mark(id);
    this.#open(id);
  }
}

function matches(run, word) {
  const texts = [run.id, run.command, run.description, run.directory, run.session, run.owner, state(run).words];
  return texts.some((text) => text?.toLowerCase().includes(word));
}

class Row {
  #sign = el("span", { class: "sign", "aria-hidden": "true" });
  #words = el("span", { class: "unseen" });
  #command = el("span", { class: "command" });
  #time = el("span", { class: "time" });
  #meta = el("span", { class: "meta" });
  #facts = el("span", { class: "facts" });
  #revision = -1;

  constructor(id, click) {
    this.element = el("div", { class: "row", role: "option", id: `row-${id}`, onclick: () => click(id) },
      this.#sign,
      el("span", { class: "upper" }, this.#words, this.#command, this.#time),
      el("span", { class: "lower" }, this.#meta, this.#facts));
  }

  show(run, place, count, isChosen) {
    const { element } = this;
    element.style.transform = `translateY(${place * ROW}px)`;
    element.setAttribute("aria-posinset", String(place + 1));
    element.setAttribute("aria-setsize", String(count));
    element.setAttribute("aria-selected", String(isChosen));
    const taken = run.took_ms ?? store.now() - run.started_ms;
    setText(this.#time, span(taken));
    if (run.took_ms !== null) setText(this.#facts, `${state(run).words} · ${ago(store.now() - run.started_ms - run.took_ms)}`);
    if (this.#revision === run.revision) return;
    this.#revision = run.revision;

    const { kind, words } = state(run);
    element.className = `row ${kind}`;
    const command = oneLine(run.command);
    setText(this.#command, command);
    element.title = command.slice(0, 300);
    setText(this.#words, `${words}: `);
    const from = [run.owner, run.session, run.description].filter(Boolean).join(" · ");
    if (run.wait) setText(this.#meta, run.wait.prompt || "It waits for somebody to type.");
    else setText(this.#meta, run.last_line || [from, endOf(run.directory)].filter(Boolean).join(" · "));
    this.#meta.classList.toggle("machine", Boolean(run.wait || run.last_line));
    if (run.took_ms === null) setText(this.#facts, running(run, words));
  }
}

function running(run, words) {
  const facts = [];
  if (run.wait) facts.push(words);
  if (run.listening.length > 0) facts.push(run.listening[0]);
  if (run.rate > 0) facts.push(`${bytes(run.rate)}/s`);
  if (run.cpu > 0) facts.push(`${run.cpu} %`);
  if (run.memory) facts.push(bytes(run.memory));
  return facts.length > 0 ? facts.join(" · ") : words;
}
