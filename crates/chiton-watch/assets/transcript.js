// The output of a run: followed, gone back in, and searched for errors.
//
// The page holds so many lines at most, and adds so many at a time: a run that prints faster than anybody reads is shown
// where it is, and a line says how much was passed over.

import { Ansi, dress } from "./ansi.js";
import { get, stream } from "./api.js";
import { el, notify } from "./dom.js";
import { bytes, number } from "./words.js";

const MOST_LINES = 10_000;
const MOST_ON_DEMAND = 50_000;
const MOST_AT_ONCE = 400;
const SETTLING = 1000;
const MOST_OF_A_LINE = 4000;
const BLOCK = 100;
const PAUSE = 100;
const ERROR = /\b(?:error|errors|failed|failure|fatal|panicked|panic|exception|traceback|undefined reference|cannot|denied)\b/iu;

export class Transcript {
  #id;
  #end = () => {};
  #lines = el("div", { class: "lines", role: "log", "aria-live": "off", tabindex: "0", "aria-label": "Output" });
  #earlier = el("button", { type: "button", class: "plain wide", hidden: true, onclick: () => this.#readEarlier() });
  #errors = el("button", { type: "button", class: "plain errors", text: "next error", title: "Next error (e), the one before (E)", disabled: true, onclick: () => this.nextError() });
  #follow = el("button", { type: "button", class: "plain", text: "follow", "aria-pressed": "true", title: "Stay at the end (f)", onclick: () => this.follow() });
  #wrap = el("button", { type: "button", class: "plain", text: "wrap", "aria-pressed": "true", title: "Wrap long lines (w)", onclick: () => this.wrap() });
  #status = el("span", { class: "dim" });
  #parsers = [new Ansi(), new Ansi()];
  #page;
  #timer;
  #count = 0;
  #limit = MOST_LINES;
  #began = 0;
  #block;
  #following = true;
  #before = 0;
  #printed = false;
  #done = false;

  constructor(id) {
    this.#id = id;
    this.#page = new Page(MOST_LINES);
    this.element = el("section", { class: "transcript", "aria-label": "Output" },
      el("div", { class: "tools" }, this.#errors, this.#follow, this.#wrap, this.#status),
      el("div", { class: "scroll" }, this.#earlier, this.#lines));
    this.scroller = this.element.lastChild;
    this.scroller.addEventListener("scroll", () => this.#noteScroll(), { passive: true });
    this.#end = stream(`/api/runs/${id}/output`, {
      begin: ({ before }) => this.#begin(before),
      text: (stretches) => this.#take(stretches),
      gap: (gap) => this.#gap(gap),
      failed: ({ error }) => this.#over(error),
      end: () => this.#over(""),
    });
  }

  close() {
    this.#end();
    clearTimeout(this.#timer);
  }

  focus() {
    this.#lines.focus({ preventScroll: true });
  }

  follow(on = !this.#following) {
    this.#following = on;
    this.#follow.setAttribute("aria-pressed", String(on));
    if (on) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  wrap() {
    const on = this.#lines.classList.toggle("unwrapped");
    this.#wrap.setAttribute("aria-pressed", String(!on));
  }

  /** Goes to the next line that looks like an error, or to the one before. */
  nextError(step = 1) {
    const all = [...this.#lines.querySelectorAll(".line.wrong")];
    if (all.length === 0) return;
    const now = this.#lines.querySelector(".line.here");
    const place = now ? all.indexOf(now) + step : step > 0 ? 0 : all.length - 1;
    const next = all[(place + all.length) % all.length];
    now?.classList.remove("here");
    next.classList.add("here");
    this.follow(false);
    next.scrollIntoView({ block: "center" });
    this.#status.textContent = `error ${all.indexOf(next) + 1} of ${all.length}`;
  }

  // After a pause of the connection everything is sent anew.
  #begin(before) {
    this.#lines.replaceChildren();
    this.#block = undefined;
    this.#count = 0;
    this.#limit = MOST_LINES;
    this.#began = performance.now();
    this.#parsers = [new Ansi(), new Ansi()];
    this.#page = new Page(MOST_LINES);
    this.#printed = false;
    this.#showBefore(before);
    this.#soon();
  }

  #showBefore(before) {
    this.#before = before;
    this.#earlier.hidden = before === 0;
    this.#earlier.textContent = `${bytes(before)} before this: show more`;
  }

  #take(stretches) {
    this.#printed = true;
    for (const { error, text } of stretches) {
      this.#page.error = error;
      this.#parsers[error ? 1 : 0].read(text, this.#page);
    }
    this.#soon();
  }

  #gap({ bytes: count, kept }) {
    this.#page.remark(kept ? `${bytes(count)} passed over to keep up; chiton logs ${this.#id} has them` : `${bytes(count)} are not kept`);
    this.#soon();
  }

  #over(error) {
    this.#done = true;
    this.#soon();
    this.#end();
    if (error) notify(error, "badly");
  }

  #soon() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#show();
    }, this.#count === 0 ? 0 : PAUSE);
  }

  #show() {
    // What was there at first comes in one piece, and whole.
    const most = performance.now() - this.#began < SETTLING ? MOST_LINES : MOST_AT_ONCE;
    const { lines, passed, open } = this.#page.give(most);
    if (passed > 0) lines.unshift({ remark: `${number(passed)} lines passed over to keep up` });
    this.#lines.querySelector(".line.open")?.remove();
    for (const line of lines) this.#add(render(line));
    if (open) {
      const last = render(open);
      last.classList.add("open");
      this.#lines.append(last);
    }
    if (!this.#printed && this.#count === 0) this.#lines.append(el("p", { class: "line open empty", text: this.#done ? "It printed nothing." : "Nothing printed yet." }));
    while (this.#count > this.#limit && this.#lines.firstChild !== this.#block) {
      this.#count -= this.#lines.firstChild.childElementCount;
      this.#lines.firstChild.remove();
      this.#earlier.hidden = true;
    }
    this.#errors.disabled = this.#lines.querySelector(".line.wrong") === null;
    if (this.#following) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  #add(line) {
    if (!this.#block || this.#block.childElementCount >= BLOCK) {
      this.#block = el("div", { class: "block" });
      this.#lines.append(this.#block);
    }
    this.#block.append(line);
    this.#count += 1;
  }

  #noteScroll() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const atEnd = scrollHeight - scrollTop - clientHeight < 40;
    if (atEnd !== this.#following) {
      this.#following = atEnd;
      this.#follow.setAttribute("aria-pressed", String(atEnd));
    }
  }

  async #readEarlier() {
    try {
      const part = await get(`/api/runs/${this.#id}/earlier?before=${this.#before}`);
      const page = new Page(MOST_LINES);
      const parsers = [new Ansi(), new Ansi()];
      if (part.not_kept > 0) page.remark(`${bytes(part.not_kept)} are not kept`);
      for (const { error, text } of part.stretches) {
        page.error = error;
        parsers[error ? 1 : 0].read(text, page);
      }
      const { lines, open } = page.give(MOST_LINES);
      if (open) lines.push(open);
      this.#count += lines.length;
      this.#limit += lines.length;
      const height = this.scroller.scrollHeight;
      const blocks = [];
      for (let place = 0; place < lines.length; place += BLOCK) {
        blocks.push(el("div", { class: "block" }, lines.slice(place, place + BLOCK).map(render)));
      }
      this.#lines.prepend(...blocks);
      this.follow(false);
      this.scroller.scrollTop += this.scroller.scrollHeight - height;
      this.#showBefore(part.from);
      if (this.#count > MOST_ON_DEMAND) this.#earlier.hidden = true;
    } catch (error) {
      notify(error.message, "badly");
    }
  }
}

/** Lines that were printed and not yet shown. */
class Page {
  error = false;
  #most;
  #lines = [];
  #passed = 0;
  #line = newLine();
  #returned = false;

  constructor(most) {
    this.#most = most;
  }

  text(text, look) {
    if (this.#returned) {
      // What was drawn over is gone, as it is for whoever looks at a terminal.
      this.#line = newLine();
      this.#returned = false;
    }
    const line = this.#line;
    line.error ||= this.error;
    const room = MOST_OF_A_LINE - line.length;
    line.cut += Math.max(0, text.length - Math.max(0, room));
    if (room <= 0) return;
    const shown = text.length > room ? text.slice(0, room) : text;
    line.length += shown.length;
    const last = line.pieces.at(-1);
    if (last && last.look === look) last.text += shown;
    else line.pieces.push({ text: shown, look });
  }

  newline() {
    this.#returned = false;
    this.#push(this.#line);
    this.#line = newLine();
  }

  back() {
    this.#returned = true;
  }

  erase() {
    if (this.#returned) this.#line = newLine();
  }

  rub() {
    const last = this.#line.pieces.at(-1);
    if (!last) return;
    last.text = last.text.slice(0, -1);
    this.#line.length -= 1;
    if (last.text === "") this.#line.pieces.pop();
  }

  remark(text) {
    if (this.#line.pieces.length > 0) this.newline();
    this.#push({ remark: text });
  }

  #push(line) {
    this.#lines.push(line);
    if (this.#lines.length > this.#most) {
      // Not one by one: a flood of empty lines would be moved again and again.
      const surplus = this.#lines.length - this.#most;
      if (surplus >= this.#most) {
        this.#passed += surplus;
        this.#lines.splice(0, surplus);
      }
    }
  }

  give(most) {
    const surplus = Math.max(0, this.#lines.length - most);
    const lines = this.#lines.slice(surplus);
    const passed = this.#passed + surplus;
    this.#lines = [];
    this.#passed = 0;
    return { lines, passed, open: this.#line.pieces.length > 0 ? this.#line : undefined };
  }
}

const newLine = () => ({ pieces: [], length: 0, cut: 0, error: false });

function render(line) {
  if (line.remark) return el("div", { class: "line remark", text: line.remark });
  const element = el("div", { class: line.error ? "line error" : "line" });
  let whole = "";
  for (const { text, look } of line.pieces) {
    whole += text;
    if (Object.keys(look).length === 0) {
      element.append(text);
    } else {
      const piece = el("span", { text });
      dress(piece, look);
      element.append(piece);
    }
  }
  if (line.cut > 0) element.append(el("span", { class: "cut", text: ` … ${number(line.cut)} more characters in this line` }));
  if (line.pieces.length === 0) element.append("\n");
  if (ERROR.test(whole)) element.classList.add("wrong");
  return element;
}
