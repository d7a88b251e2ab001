// The terminal of a run. Whoever looks on sees it at its own size; whoever takes over gives it the size of the window and
// types into it.

import { FitAddon } from "./xterm/addon-fit.mjs";
import { Terminal } from "./xterm/xterm.mjs";
import { mayAct, post, stream } from "./api.js";
import { el, notify } from "./dom.js";
import { isDark, onTheme } from "./theme.js";

const FONT = 'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", "DejaVu Sans Mono", monospace';
const LARGEST = 14;
const SMALLEST = 5;

// The page allows only styles that carry this answer's word, and no style attributes. The library makes both.
const word = document.querySelector("script[nonce]")?.nonce ?? "";
const create = document.createElement.bind(document);
document.createElement = (name, options) => {
  const element = create(name, options);
  if (name === "style") element.nonce = word;
  if (name === "span") element.setAttribute = setAttribute;
  return element;
};
function setAttribute(name, value) {
  if (name === "style") this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

const LIGHT = {
  background: "#ffffff", foreground: "#22211f", cursor: "#0b6e6a", cursorAccent: "#ffffff", selectionBackground: "#bfe3e0",
  black: "#22211f", red: "#b3261e", green: "#1f7a3a", yellow: "#8a5a00", blue: "#1f5fbf", magenta: "#8a3ea8", cyan: "#0b6e6a", white: "#6a6862",
  brightBlack: "#6a6862", brightRed: "#b3261e", brightGreen: "#1f7a3a", brightYellow: "#8a5a00", brightBlue: "#1f5fbf", brightMagenta: "#8a3ea8", brightCyan: "#0b6e6a", brightWhite: "#22211f",
};
const DARK = {
  background: "#101214", foreground: "#e4e3df", cursor: "#58cdc3", cursorAccent: "#101214", selectionBackground: "#234b49",
  black: "#33363b", red: "#ff8a80", green: "#7fd393", yellow: "#e8b964", blue: "#86b4ff", magenta: "#d7a3ef", cyan: "#58cdc3", white: "#c9c8c4",
  brightBlack: "#8b8d90", brightRed: "#ffaaa3", brightGreen: "#a2e6b2", brightYellow: "#f3d08d", brightBlue: "#abcbff", brightMagenta: "#e6c3f6", brightCyan: "#8be3db", brightWhite: "#ffffff",
};

export class TerminalView {
  #id;
  #terminal;
  #fit = new FitAddon();
  #end = () => {};
  #screen = el("div", { class: "screen" });
  #take = el("button", { type: "button", class: "plain", text: "take over", title: "Type into this terminal (i)", onclick: () => this.takeOver() });
  #status = el("span", { class: "dim", role: "status" });
  #viewer = null;
  #types = false;
  #over = false;
  #queue = "";
  #sending = false;
  #observer;
  #forgetTheme;

  constructor(id, isRunning) {
    this.#id = id;
    this.#over = !isRunning;
    this.element = el("section", { class: "terminal", "aria-label": "Terminal" },
      el("div", { class: "tools" }, mayAct() && isRunning ? this.#take : null, this.#status),
      this.#screen);
    this.#terminal = new Terminal({
      fontFamily: FONT, fontSize: LARGEST, scrollback: 2000, disableStdin: true, cursorBlink: false, screenReaderMode: true,
      theme: isDark() ? DARK : LIGHT, minimumContrastRatio: 4.5,
      // A program names the place a link leads to; nobody follows it from here.
      linkHandler: { activate() {}, hover() {}, leave() {} },
    });
    this.#terminal.loadAddon(this.#fit);
    this.#terminal.onData((text) => this.#type(text));
    this.#terminal.onBinary((text) => this.#type(text));
    this.#forgetTheme = onTheme(() => (this.#terminal.options.theme = isDark() ? DARK : LIGHT));
  }

  /** Once the element is on the page. */
  begin() {
    this.#terminal.open(this.#screen);
    // The library's own key for leaving it would be swallowed: escape with shift gives the keyboard back.
    this.#terminal.attachCustomKeyEventHandler((event) => {
      if (event.type === "keydown" && event.key === "Escape" && event.shiftKey) {
        this.#terminal.blur();
        this.element.closest("section.detail-pane")?.focus();
        return false;
      }
      return true;
    });
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(this.#screen);
    this.#listen();
  }

  close() {
    this.#end();
    this.#observer?.disconnect();
    this.#forgetTheme();
    this.#terminal.dispose();
  }

  /** Begins to type, or ends it. */
  takeOver(on = !this.#types) {
    if (this.#over || !mayAct()) return;
    this.#types = on;
    this.#queue = "";
    this.#take.textContent = on ? "let go" : "take over";
    this.#take.setAttribute("aria-pressed", String(on));
    this.#terminal.options.disableStdin = !on;
    this.#terminal.options.cursorBlink = on;
    // Where it describes itself to a screen reader, it does not take what the keyboard of a phone sends.
    this.#terminal.options.screenReaderMode = !on;
    this.element.classList.toggle("taken", on);
    this.#status.textContent = on ? "you type here; Shift-Escape leaves" : "";
    this.#listen();
    if (on) this.#terminal.focus();
  }

  #listen() {
    this.#end();
    this.#viewer = null;
    this.#end = stream(`/api/runs/${this.#id}/terminal${this.#types ? "?type=1" : ""}`, {
      begin: ({ viewer }) => {
        this.#viewer = viewer;
        this.#terminal.reset();
        if (viewer) this.#resize();
        if (viewer && this.#types) this.#send();
      },
      screen: (screen) => this.#paint(screen),
      output: ({ bytes }) => this.#terminal.write(decode(bytes)),
      failed: ({ error }) => {
        this.#finish();
        notify(error, "badly");
      },
      end: () => this.#finish(),
    });
  }

  #finish() {
    this.#end();
    this.#over = true;
    this.#types = false;
    this.#take.hidden = true;
    this.#terminal.options.disableStdin = true;
    this.#terminal.options.screenReaderMode = true;
    this.element.classList.remove("taken");
    this.#status.textContent = "the last screen";
  }

  #paint({ columns, rows, bytes }) {
    if (this.#terminal.cols !== columns || this.#terminal.rows !== rows) this.#terminal.resize(columns, rows);
    if (!this.#types) this.#shrink();
    this.#terminal.write(decode(bytes));
  }

  #resize() {
    if (!this.#types || !this.#viewer) {
      this.#shrink();
      return;
    }
    this.#terminal.options.fontSize = 13;
    const size = this.#fit.proposeDimensions();
    if (!size || !Number.isFinite(size.cols)) return;
    const [columns, rows] = [Math.max(20, size.cols), Math.max(5, size.rows)];
    this.#terminal.resize(columns, rows);
    post(`/api/terminals/${this.#viewer}/size`, { columns, rows }).catch(() => {});
  }

  /** Letters so small that the whole width is seen. */
  #shrink() {
    const width = this.#screen.clientWidth - 24;
    if (width <= 0) return;
    const letter = 0.605;
    const size = Math.floor((width / (this.#terminal.cols * letter)) * 2) / 2;
    this.#terminal.options.fontSize = Math.max(SMALLEST, Math.min(LARGEST - 1, size));
  }

  #type(text) {
    if (!this.#types) return;
    this.#queue += text;
    this.#send();
  }

  // One request after the other, so that keys arrive in their order; what is typed meanwhile goes with the next, and what is
  // typed before the server has said who types goes once it has.
  async #send() {
    if (this.#sending || !this.#viewer) return;
    this.#sending = true;
    try {
      while (this.#queue !== "" && this.#viewer) {
        const now = this.#queue;
        this.#queue = "";
        await post(`/api/terminals/${this.#viewer}/keys`, { text: now });
      }
    } catch (error) {
      this.#queue = "";
      notify(error.message, "badly");
    } finally {
      this.#sending = false;
    }
  }
}

function decode(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
