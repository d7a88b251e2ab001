// The journal, counted over time and drawn by hand.

import { get } from "./api.js";
import { byId, draw, el, notify } from "./dom.js";
import { bytes, number, span } from "./words.js";

const RANGES = [[1, "1 h"], [24, "24 h"], [168, "7 days"], [720, "30 days"]];
const [WIDTH, HEIGHT, BOTTOM] = [480, 120, 16];

export class ChartsView {
  #view = byId("view-charts");
  #ranges = el("div", { class: "chips", role: "group", "aria-label": "Span of time" });
  #charts = el("div", { class: "charts" });
  #hours = 24;

  constructor() {
    for (const [hours, words] of RANGES) {
      this.#ranges.append(el("button", { type: "button", class: "chip", text: words, "aria-pressed": String(hours === this.#hours), onclick: () => {
        this.#hours = hours;
        [...this.#ranges.children].forEach((chip, place) => chip.setAttribute("aria-pressed", String(RANGES[place][0] === hours)));
        this.show();
      } }));
    }
    this.#view.append(el("h2", { text: "Charts" }), this.#ranges, this.#charts);
  }

  focus() {
    this.#ranges.firstChild.focus();
  }

  async show() {
    try {
      const counts = await get(`/api/counts?hours=${this.#hours}`);
      this.#draw(counts);
    } catch (error) {
      notify(error.message, "badly");
    }
  }

  #draw({ from_ms, span_ms, is_cut, bars, programs }) {
    const sum = (key) => bars.reduce((all, bar) => all + bar[key], 0);
    const time = { from: from_ms, span: span_ms };
    const [well, badly, output] = [sum("well"), sum("badly"), sum("output")];
    const [allowed, held, refused] = [sum("allowed"), sum("held"), sum("refused")];
    const halves = bars.map((bar) => bar.half_ms).filter((value) => value !== null).sort((one, other) => one - other);
    const longest = Math.max(0, ...bars.map((bar) => bar.most_ms ?? 0));
    this.#charts.replaceChildren(
      figure("Commands", `${number(well + badly)} ended, ${number(badly)} of them badly`,
        [["well", "ended well"], ["badly", "ended badly"]], stacked(bars, [["well", "well"], ["badly", "badly"]], time, number)),
      figure("Durations", halves.length === 0 ? "nothing ended" : `about ${span(halves[Math.floor(halves.length / 2)])}, the slowest about ${span(longest)}`,
        [["well", "half of them at most"], ["faint", "nineteen of twenty"]], ranges(bars, time)),
      figure("Output", `${bytes(output)} printed`, [["well", "bytes printed"]], stacked(bars, [["output", "well"]], time, bytes)),
      figure("Verdicts", `${number(allowed)} allowed, ${number(held)} since the sandbox holds them, ${number(refused)} refused`,
        [["well", "allowed"], ["faint", "held by the sandbox"], ["badly", "refused"]], stacked(bars, [["allowed", "well"], ["held", "faint"], ["refused", "badly"]], time, number)),
      ranking(programs),
    );
    if (is_cut) this.#charts.append(el("p", { class: "dim", text: "Older lines of this time were not counted: there are too many." }));
  }
}

function figure(title, words, legend, drawing) {
  drawing.setAttribute("aria-label", `${title}: ${words}`);
  return el("figure", { class: "chart" },
    el("figcaption", {}, el("span", { class: "title", text: title }), el("span", { class: "dim", text: words })),
    drawing,
    el("div", { class: "legend dim" }, legend.map(([kind, name]) => el("span", {}, el("i", { class: `swatch ${kind}` }), name))));
}

function frame(time, top) {
  const end = time.from + time.span * 48;
  const label = (ms) => {
    const at = new Date(ms);
    const isLong = time.span * 48 > 2 * 86_400_000;
    return isLong ? at.toLocaleDateString("en-GB", { day: "numeric", month: "short" }) : at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  };
  return draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + BOTTOM}`, role: "img", class: "drawing" },
    draw("line", { x1: 0, x2: WIDTH, y1: HEIGHT + 0.5, y2: HEIGHT + 0.5, class: "axis" }),
    draw("line", { x1: 0, x2: WIDTH, y1: 0.5, y2: 0.5, class: "grid" }),
    draw("text", { x: 0, y: 11, class: "tick", text: top }),
    draw("text", { x: 0, y: HEIGHT + 13, class: "tick", text: label(time.from) }),
    draw("text", { x: WIDTH / 2, y: HEIGHT + 13, class: "tick", "text-anchor": "middle", text: label((time.from + end) / 2) }),
    draw("text", { x: WIDTH, y: HEIGHT + 13, class: "tick", "text-anchor": "end", text: "now" }));
}

function stacked(bars, keys, time, words) {
  const total = (bar) => keys.reduce((all, [key]) => all + bar[key], 0);
  const most = Math.max(0, ...bars.map(total));
  const svg = frame(time, most > 0 ? words(most) : "");
  const step = WIDTH / bars.length;
  bars.forEach((bar, place) => {
    let y = HEIGHT;
    for (const [key, kind] of keys) {
      if (bar[key] === 0) continue;
      const height = Math.max(1.5, (bar[key] / most) * (HEIGHT - 16));
      y -= height;
      svg.append(draw("rect", { x: place * step + 1, y, width: step - 2, height, class: kind },
        draw("title", { text: `${new Date(time.from + place * time.span).toLocaleString("en-GB")}: ${words(bar[key])} ${key}` })));
    }
  });
  return svg;
}

/** Durations differ by powers of ten, so the scale is one of those. */
function ranges(bars, time) {
  const most = Math.max(10, ...bars.map((bar) => bar.most_ms ?? 0));
  const svg = frame(time, span(most));
  const height = (ms) => (Math.log10(Math.max(1, ms)) / Math.log10(most)) * (HEIGHT - 16);
  const step = WIDTH / bars.length;
  bars.forEach((bar, place) => {
    if (bar.half_ms === null) return;
    const [low, high] = [height(bar.half_ms), height(bar.most_ms)];
    svg.append(
      draw("rect", { x: place * step + 1, y: HEIGHT - high, width: step - 2, height: Math.max(1, high - low), class: "faint" },
        draw("title", { text: `${new Date(time.from + place * time.span).toLocaleString("en-GB")}: half at most ${span(bar.half_ms)}, most ${span(bar.most_ms)}` })),
      draw("rect", { x: place * step + 1, y: HEIGHT - low - 1, width: step - 2, height: 2.5, class: "well" }));
  });
  return svg;
}

function ranking(programs) {
  const most = programs[0]?.[1] ?? 1;
  return el("figure", { class: "chart" },
    el("figcaption", {}, el("span", { class: "title", text: "Programs" }), el("span", { class: "dim", text: "by how often commands begin with them" })),
    el("ol", { class: "ranking" }, programs.map(([name, count]) => {
      const bar = el("span", { class: "rank-bar", "aria-hidden": "true" });
      bar.style.width = `${(count / most) * 100}%`;
      return el("li", {}, bar, el("span", { class: "machine", text: name }), el("span", { class: "amount", text: number(count) }));
    })));
}
