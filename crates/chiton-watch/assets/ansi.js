// Output of programs as pieces of text with a look.
//
// 1. Colours and the like become the look of the text that follows; everything else that steers a terminal is dropped,
//    links and titles too.
// 2. What is not seen, or moves what is seen, is written out: a text cannot disguise itself as another one.
// 3. A sequence that is cut in two by the end of a piece is completed by the next one. None may be longer than LONGEST.

const LONGEST = 4096;

// Everything that is not plain text: control characters, and those that turn text around or hide in it.
// eslint-disable-next-line no-control-regex
const SPECIAL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

const PLAIN = Object.freeze({});

export class Ansi {
  #look = PLAIN;
  #rest = "";

  /**
   * Reads the next piece. `sink` has `text(text, look)`, `newline()`, `back()` for a return to the beginning of the line,
   * `erase()` for the rest of the line and `rub()` for one character back.
   */
  read(piece, sink) {
    const text = this.#rest + piece;
    this.#rest = "";
    let place = 0;
    SPECIAL.lastIndex = 0;
    for (let found = SPECIAL.exec(text); found; found = SPECIAL.exec(text)) {
      if (found.index > place) sink.text(text.slice(place, found.index), this.#look);
      const sign = found[0];
      place = found.index + sign.length;
      if (sign === "\n") sink.newline();
      else if (sign === "\r") sink.back();
      else if (sign === "\b") sink.rub();
      else if (sign === "\u001b" || sign === "\u009b") {
        const end = this.#sequence(text, found.index, sink);
        if (end === undefined) {
          // It goes on in the next piece, unless it is too long to be one.
          if (text.length - found.index <= LONGEST) this.#rest = text.slice(found.index);
          return;
        }
        place = end;
      } else if (sign !== "\u0007" && sign !== "\u000e" && sign !== "\u000f" && sign !== "\u0000") {
        sink.text(written(sign), { ...this.#look, hidden: true });
      }
      SPECIAL.lastIndex = place;
    }
    if (place < text.length) sink.text(text.slice(place), this.#look);
  }

  /** Where the sequence at `start` ends; undefined where it is cut. */
  #sequence(text, start, sink) {
    const kind = text[start] === "\u009b" ? "[" : text[start + 1];
    const first = text[start] === "\u009b" ? start + 1 : start + 2;
    if (kind === undefined) return undefined;
    if (kind === "[") {
      let end = first;
      while (end < text.length && !(text[end] >= "@" && text[end] <= "~")) {
        // A control character within: this was none.
        if (text[end] < " ") return end;
        end += 1;
      }
      if (end >= text.length) return undefined;
      this.#steer(text.slice(first, end), text[end], sink);
      return end + 1;
    }
    if ("]PX^_".includes(kind)) {
      for (let end = first; end < text.length; end += 1) {
        if (text[end] === "\u0007" || text[end] === "\u009c") return end + 1;
        if (text[end] === "\u001b") {
          if (end + 1 >= text.length) return undefined;
          return text[end + 1] === "\\" ? end + 2 : end;
        }
      }
      return undefined;
    }
    if ("()*+#% ".includes(kind)) return first + 1 > text.length ? undefined : first + 1;
    return first;
  }

  #steer(body, letter, sink) {
    if (letter === "m") this.#look = looked(this.#look, body);
    else if (letter === "K") sink.erase();
    else if (letter === "G" && (body === "" || body === "1")) sink.back();
  }
}

/** A character that is not seen, by its number. */
const written = (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

const FLAGS = { 1: "bold", 2: "dim", 3: "italic", 4: "under", 7: "inverse", 9: "struck" };

function looked(before, body) {
  const codes = body.split(/[;:]/u).map((code) => (code === "" ? 0 : Number(code)));
  const look = { ...before };
  for (let place = 0; place < codes.length; place += 1) {
    const code = codes[place];
    if (code === 0) for (const key of Object.keys(look)) delete look[key];
    else if (FLAGS[code]) look[FLAGS[code]] = true;
    else if (code === 22) { delete look.bold; delete look.dim; }
    else if (code === 23) delete look.italic;
    else if (code === 24) delete look.under;
    else if (code === 27) delete look.inverse;
    else if (code === 29) delete look.struck;
    else if (code >= 30 && code <= 37) look.fore = code - 30;
    else if (code >= 90 && code <= 97) look.fore = code - 82;
    else if (code >= 40 && code <= 47) look.back = code - 40;
    else if (code >= 100 && code <= 107) look.back = code - 92;
    else if (code === 39) delete look.fore;
    else if (code === 49) delete look.back;
    else if (code === 38 || code === 48) {
      const which = code === 38 ? "fore" : "back";
      if (codes[place + 1] === 5) {
        look[which] = indexed(codes[place + 2]);
        place += 2;
      } else if (codes[place + 1] === 2) {
        look[which] = rgb(codes.slice(place + 2, place + 5));
        place += 4;
      }
    }
  }
  return Object.freeze(look);
}

/** One of 256 colours: a number below 16 is a colour of the page, the rest are what they are. */
function indexed(number) {
  if (!(number >= 0 && number <= 255)) return undefined;
  if (number < 16) return number;
  if (number >= 232) return rgb(Array(3).fill((number - 232) * 10 + 8));
  const part = (value) => (value === 0 ? 0 : value * 40 + 55);
  const place = number - 16;
  return rgb([part(Math.floor(place / 36)), part(Math.floor(place / 6) % 6), part(place % 6)]);
}

function rgb(parts) {
  const [red, green, blue] = parts.map((part) => (part >= 0 && part <= 255 ? part : 0));
  return `rgb(${red ?? 0} ${green ?? 0} ${blue ?? 0})`;
}

/** Gives an element the look. */
export function dress(element, look) {
  const names = [];
  for (const flag of ["bold", "dim", "italic", "under", "inverse", "struck", "hidden"]) if (look[flag]) names.push(`a-${flag}`);
  if (typeof look.fore === "number") names.push(`a-f${look.fore}`);
  else if (look.fore) element.style.color = look.fore;
  if (typeof look.back === "number") names.push(`a-b${look.back}`);
  else if (look.back) element.style.backgroundColor = look.back;
  if (names.length > 0) element.className = names.join(" ");
}
