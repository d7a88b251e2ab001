// Builds elements. Text is only ever text: nothing here, and nothing that uses it, makes markup of a string.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "class") element.setAttribute("class", value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element with attributes, `text`, listeners (`onclick`) and children. */
export function el(name, properties, ...children) {
  return fill(document.createElement(name), properties, children);
}

/** The same in a drawing. */
export function draw(name, properties, ...children) {
  return fill(document.createElementNS(SVG, name), properties, children);
}

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** Sets the text of an element, unless it has it. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let noticeTimer;

/** Tells the person something that passes. */
export function notify(text, kind = "") {
  const notice = byId("notice");
  notice.textContent = text;
  notice.className = `notice ${kind}`;
  notice.hidden = false;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => (notice.hidden = true), 6000);
}

/** Says something to a screen reader alone. */
export function speak(text) {
  byId("spoken").textContent = text;
}

/** Asks for consent to something that cannot be taken back. */
export function confirm(title, text, action) {
  const dialog = byId("dialog");
  return new Promise((resolve) => {
    const done = (answer) => {
      dialog.oncancel = null;
      dialog.close();
      resolve(answer);
    };
    dialog.replaceChildren(
      el("h2", { id: "dialog-title", text: title }),
      el("p", { class: "machine", text }),
      el("div", { class: "actions" },
        el("button", { type: "button", text: "Cancel", onclick: () => done(false) }),
        el("button", { type: "button", class: "danger", text: action, autofocus: true, onclick: () => done(true) })),
    );
    // Escape. That it has closed is said only later, and may be heard by the next one.
    dialog.oncancel = () => resolve(false);
    dialog.showModal();
  });
}
