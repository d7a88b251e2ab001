// The run that is looked at: what it is, what it does, what it prints, and what a person can do to it.

import { get, mayAct, post } from "./api.js";
import { byId, confirm, el, notify, setText } from "./dom.js";
import { store } from "./store.js";
import { Transcript } from "./transcript.js";
import { bytes, files, moment, number, oneLine, span, state } from "./words.js";

export class RunView {
  #pane = byId("detail");
  #id;
  #head;
  #facts = new Map();
  #more = {};
  #body;
  #view;
  #tab;
  #wasRunning;

  constructor(leave) {
    this.leave = leave;
    this.#pane.tabIndex = -1;
    store.watch(() => this.#refresh());
    setInterval(() => this.#refresh(), 1000);
    this.#empty();
  }

  get id() {
    return this.#id;
  }

  focus() {
    if (this.#view?.focus) this.#view.focus();
    else this.#pane.focus({ preventScroll: true });
  }

  show(id) {
    if (id === this.#id) return;
    this.#closeView();
    this.#id = id;
    this.#more = {};
    this.#wasRunning = undefined;
    if (!id) {
      this.#empty();
      return;
    }
    this.#build();
    this.#describe(id);
  }

  nextError(step) {
    this.#view?.nextError?.(step);
  }

  follow() {
    this.#view?.follow?.();
  }

  wrap() {
    this.#view?.wrap?.();
  }

  takeOver() {
    this.#view?.takeOver?.();
  }

  async stop() {
    const run = store.get(this.#id);
    if (!run || run.took_ms !== null || !mayAct()) return;
    const sure = await confirm("Stop this run, with everything it started?", oneLine(run.command).slice(0, 400), "Stop it");
    if (sure) this.#act("kill");
  }

  #empty() {
    this.#pane.replaceChildren(el("p", { class: "hint" },
      el("span", { text: "Choose a run to see what it prints." }),
      el("span", { class: "dim", text: "j and k move, enter opens, / filters, ? lists all keys." })));
  }

  async #describe(id) {
    try {
      const more = await get(`/api/runs/${id}`);
      if (id !== this.#id) return;
      this.#more = more;
      this.#refresh();
    } catch (error) {
      if (id !== this.#id) return;
      this.#closeView();
      this.#tab = "none";
      this.#body.replaceChildren(el("p", { class: "hint", text: error.message }));
    }
  }

  #build() {
    const button = (text, title, act, kind) => el("button", { type: "button", class: kind, text, title, onclick: act });
    this.#head = {
      state: el("span", { class: "state" }),
      time: el("span", { class: "time" }),
      command: el("pre", { class: "whole machine", tabindex: "0", "aria-label": "Command" }),
      prompt: el("p", { class: "prompt machine", hidden: true }),
      actions: el("div", { class: "actions" },
        button("Stop", "Stop it, with everything it started (x)", () => this.stop(), "danger"),
        button("Interrupt", "As Ctrl-C would", () => this.#act("signal", { signal: "INT" })),
        button("Release", "Let the call that waits for it return; it goes on", () => this.#act("release"))),
    };
    this.#facts.clear();
    this.facts = el("dl", { class: "facts" });
    this.#body = el("div", { class: "body" });
    this.#tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Terminal or output", hidden: true });
    this.#send = this.#sendForm();
    this.#pane.replaceChildren(
      el("header", { class: "run-head" },
        el("div", { class: "head-line" },
          el("button", { type: "button", class: "plain back", text: "‹ Runs", onclick: () => this.leave() }),
          this.#head.state, this.#head.time, this.#head.actions),
        this.#head.command, this.#head.prompt),
      el("details", { class: "facts-box", open: matchMedia("(min-width: 800px)").matches }, el("summary", { text: "Facts" }), this.facts),
      this.#tabs, this.#body, this.#send);
    this.#refresh();
  }

  #tabs;
  #send;

  #sendForm() {
    const field = el("input", { type: "text", "aria-label": "Text for its input", placeholder: "Text for its input; a newline is added", autocomplete: "off", spellcheck: "false" });
    return el("form", { class: "send", hidden: true, onsubmit: async (event) => {
      event.preventDefault();
      const text = field.value;
      if (await this.#act("send", { text: `${text}\n` })) field.value = "";
    } }, field, el("button", { type: "submit", text: "Send" }),
    el("button", { type: "button", text: "End input", title: "Nothing more will come", onclick: () => this.#act("end-input") }));
  }

  async #act(what, body) {
    try {
      notify(await post(`/api/runs/${this.#id}/${what}`, body));
      return true;
    } catch (error) {
      notify(error.message, "badly");
      return false;
    }
  }

  #refresh() {
    const run = this.#id && store.get(this.#id);
    if (!this.#id || !this.#head) return;
    if (!run) {
      // Older than what is listed.
      setText(this.#head.command, this.#more.command ?? this.#id);
      if (this.#more.command && !this.#tab) this.#showView("output", undefined);
      return;
    }
    const { kind, words } = state(run);
    const isRunning = run.took_ms === null;
    if (this.#wasRunning && !isRunning) this.#describe(this.#id);
    this.#head.state.className = `state ${kind}`;
    setText(this.#head.state, words);
    setText(this.#head.time, span(run.took_ms ?? store.now() - run.started_ms));
    setText(this.#head.command, this.#more.command ?? run.command);
    this.#head.prompt.hidden = !run.wait;
    if (run.wait) setText(this.#head.prompt, run.wait.prompt || "It waits for somebody to type.");
    this.#head.actions.hidden = !isRunning || !mayAct();
    this.#head.actions.lastChild.hidden = run.background;
    this.#send.hidden = !isRunning || !mayAct() || run.terminal;
    this.#showFacts(run);
    this.#showTabs(run);
    this.#wasRunning = isRunning;
  }

  #showFacts(run) {
    const isRunning = run.took_ms === null;
    const rate = run.rate > 0 ? `, ${bytes(run.rate)}/s` : "";
    const facts = [
      ["id", run.id],
      ["started", moment(run.started_ms)],
      ["directory", run.directory],
      ["for", run.description],
      ["client", run.owner ?? "a person"],
      ["session", run.session],
      ["left by", run.leftover_of],
      ["ended", isRunning ? null : this.#more.outcome],
      ["printed", bytes(run.printed) + rate],
      ["processes", isRunning && run.processes > 0 ? number(run.processes) : null],
      ["processor", isRunning && run.cpu !== null ? `${run.cpu} %` : null],
      ["memory", isRunning && run.memory ? bytes(run.memory) : null],
      ["listens", [...run.listening, run.ports_unknown].filter(Boolean).join(", ") || null],
      ["files", run.changed ? files(run.changed) : null],
      ["undo", run.changed?.undo ? `chiton undo ${run.changed.undo}` : null],
      ["held by", this.#more.protection],
    ];
    for (const [name, value] of facts) {
      let fact = this.#facts.get(name);
      if (!value) {
        fact?.remove();
        this.#facts.delete(name);
        continue;
      }
      if (!fact) {
        fact = el("div", {}, el("dt", { text: name }), el("dd", {}));
        this.#facts.set(name, fact);
        const order = facts.map(([known]) => this.#facts.get(known)).filter(Boolean);
        this.facts.replaceChildren(...order);
      }
      setText(fact.lastChild, value);
      fact.lastChild.title = value;
    }
  }

  #showTabs(run) {
    if (this.#tab === "none") return;
    if (!run.terminal) {
      if (this.#tab !== "output") this.#showView("output", run);
      return;
    }
    if (this.#tabs.childElementCount === 0) {
      for (const [tab, words] of [["terminal", "Terminal"], ["output", "Output"]]) {
        this.#tabs.append(el("button", { type: "button", role: "tab", class: "tab", "data-tab": tab, text: words, onclick: () => this.#showView(tab, store.get(this.#id)) }));
      }
      this.#tabs.hidden = false;
    }
    if (!this.#tab) this.#showView("terminal", run);
  }

  async #showView(tab, run) {
    if (this.#tab === tab) return;
    this.#closeView();
    this.#tab = tab;
    for (const button of this.#tabs.children) {
      button.setAttribute("aria-selected", String(button.dataset.tab === tab));
      button.tabIndex = button.dataset.tab === tab ? 0 : -1;
    }
    const id = this.#id;
    if (tab === "terminal") {
      // Only whoever looks at a terminal loads what draws it.
      const { TerminalView } = await import("./terminal.js");
      if (this.#id !== id || this.#tab !== tab) return;
      this.#view = new TerminalView(id, run.took_ms === null);
    } else {
      this.#view = new Transcript(id);
    }
    this.#body.replaceChildren(this.#view.element);
    this.#view.begin?.();
  }

  #closeView() {
    this.#view?.close();
    this.#view = undefined;
    this.#tab = undefined;
    this.#body?.replaceChildren();
  }
}
