// The journal, searched.

import { get } from "./api.js";
import { byId, el, notify } from "./dom.js";
import { bytes, moment, oneLine, span } from "./words.js";

const MOST_ROWS = 2000;
const WRONG = new Set(["timed_out", "signaled", "killed", "lost", "refused"]);

export class JournalView {
  #view = byId("view-journal");
  #words = el("input", { type: "search", "aria-label": "Search the journal", placeholder: "Search: words that all have to be there", autocomplete: "off", spellcheck: "false" });
  #failures = el("input", { type: "checkbox" });
  #rows = el("tbody");
  #more = el("button", { type: "button", class: "plain wide", text: "Older lines", hidden: true, onclick: () => this.#read(this.#next) });
  #empty = el("p", { class: "hint", hidden: true, text: "No line fits." });
  #next;
  #timer;
  #asked = 0;

  constructor(open) {
    this.open = open;
    this.#words.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#read(), 200);
    });
    this.#failures.addEventListener("change", () => this.#read());
    const heads = ["when", "what", "outcome", "took", "printed", "run"];
    this.#view.append(
      el("h2", { text: "Journal" }),
      el("div", { class: "tools" }, this.#words, el("label", { class: "check" }, this.#failures, "only what went wrong"),
        el("button", { type: "button", class: "plain", text: "refresh", onclick: () => this.#read() })),
      el("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Lines of the journal" },
        el("table", { class: "journal" }, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col", text: head })))), this.#rows)),
      this.#empty, this.#more);
  }

  focus() {
    this.#words.focus();
  }

  show() {
    this.#read();
  }

  async #read(before) {
    this.#asked += 1;
    const asked = this.#asked;
    const query = new URLSearchParams({ words: this.#words.value });
    if (before) query.set("before", before);
    if (this.#failures.checked) query.set("failures", "1");
    try {
      const found = await get(`/api/journal?${query}`);
      // An answer that was overtaken by a later one.
      if (asked !== this.#asked) return;
      if (!before) this.#rows.replaceChildren();
      // The line about an end does not repeat the command; the one about its start, which is older, has it.
      const commands = new Map(found.lines.filter((line) => line.event === "run").map((line) => [line.run, line.what]));
      this.#rows.append(...found.lines.map((line) => this.#row(line, commands.get(line.run))));
      this.#next = found.next;
      this.#more.hidden = !found.next || this.#rows.childElementCount >= MOST_ROWS;
      this.#empty.hidden = this.#rows.childElementCount > 0;
    } catch (error) {
      notify(error.message, "badly");
    }
  }

  #row(line, command) {
    const wrong = line.event === "refused" || line.event === "failed" || (line.exit_code ?? 0) !== 0 || WRONG.has(line.outcome);
    const outcome = line.outcome ?? { run: "started", refused: "refused", failed: "failed" }[line.event] ?? line.event;
    const code = line.exit_code === null ? "" : ` ${line.exit_code}`;
    const why = ["refused", "failed"].includes(line.event) || line.rule ? line.verdict : null;
    const who = [line.who, line.session, line.directory].filter(Boolean).join(" · ");
    return el("tr", { class: wrong ? "wrong" : "" },
      el("td", { class: "when", text: moment(line.at_ms) }),
      el("td", { class: "what" },
        line.what ? el("span", { class: "machine", text: oneLine(line.what).slice(0, 300) }) : null,
        !line.what && command ? el("span", { class: "machine dim", text: oneLine(command).slice(0, 300) }) : null,
        why ? el("span", { class: "why", text: why }) : null,
        el("span", { class: "dim who", text: who })),
      el("td", { class: "outcome", text: outcome.replace("_", " ") + code }),
      el("td", { class: "amount", text: line.duration_ms === null ? "" : span(line.duration_ms) }),
      el("td", { class: "amount", text: line.output_bytes === null ? "" : bytes(line.output_bytes) }),
      el("td", {}, line.run ? el("a", { class: "machine", href: `#/runs/${line.run}`, text: line.run.replace("shell_", "") }) : null));
  }
}
