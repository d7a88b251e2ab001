// The questions that wait for an answer.

import { mayAct, post } from "./api.js";
import { byId, el, notify, setText, speak } from "./dom.js";
import { store } from "./store.js";
import { ago } from "./words.js";

// A click that was meant for a question which is gone must not answer the one that has moved to its place.
const SETTLING = 600;
const ANSWERS = [["once", "Once"], ["session", "For this session"], ["no", "No"]];

export class ApprovalsView {
  #view = byId("view-approvals");
  #count = byId("approval-count");
  #list = el("div", { class: "cards" });
  #cards = new Map();
  #timer;
  #empty = el("p", { class: "hint" }, el("span", { text: "No question waits for an answer." }),
    el("span", { class: "dim", text: "What the guard wants to know appears here by itself." }));

  constructor() {
    this.#view.append(el("h2", { text: "Approvals" }), this.#empty, this.#list);
    store.watch(() => this.#refresh());
    setInterval(() => this.#refresh(), 5000);
  }

  focus() {
    this.#view.querySelector("button")?.focus();
  }

  #refresh() {
    const waiting = store.approvals;
    this.#count.hidden = waiting.length === 0;
    setText(this.#count, String(waiting.length));
    this.#empty.hidden = waiting.length > 0;
    const kept = new Set();
    let moved = false;
    for (const question of waiting) {
      kept.add(question.id);
      // A server that was restarted may let a person do more, or less.
      if (this.#cards.get(question.id)?.acts !== mayAct()) {
        this.#cards.get(question.id)?.element.remove();
        const card = this.#card(question);
        this.#cards.set(question.id, card);
        this.#list.append(card.element);
        moved = true;
        speak(`A question waits: ${question.heading}`);
      }
      setText(this.#cards.get(question.id).asked, `asked ${ago(store.now() - question.asked_ms)}`);
    }
    for (const [id, card] of this.#cards) {
      if (kept.has(id)) continue;
      card.element.remove();
      this.#cards.delete(id);
      moved = true;
    }
    if (moved) this.#settle();
  }

  #settle() {
    this.#list.inert = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.#list.inert = false), SETTLING);
  }

  #card(question) {
    const asked = el("span", { class: "dim" });
    const from = [question.owner, question.session, question.directory].filter(Boolean).join(" · ");
    const buttons = ANSWERS.map(([answer, words]) => el("button", {
      type: "button", text: words, class: answer === "once" ? "main" : "", disabled: !mayAct(), onclick: () => this.#answer(question, answer),
    }));
    const element = el("article", { class: "card", "aria-label": question.heading },
      el("header", {}, el("h3", { text: question.heading }), asked),
      el("p", { class: "dim", text: from }),
      el("pre", { class: "machine", tabindex: "0", "aria-label": "The question", text: question.text }),
      el("p", { class: "dim", text: question.answers }),
      el("div", { class: "actions" }, buttons),
      mayAct() ? null : el("p", { class: "dim", text: "This page only shows. chiton ui --control serves one on which you can answer." }));
    return { element, asked, acts: mayAct() };
  }

  async #answer(question, answer) {
    const { element } = this.#cards.get(question.id);
    const buttons = [...element.querySelectorAll("button")];
    buttons.forEach((button) => (button.disabled = true));
    try {
      notify(await post(`/api/approvals/${question.id}`, { answer }));
    } catch (error) {
      notify(error.message, "badly");
      buttons.forEach((button) => (button.disabled = false));
    }
  }
}
