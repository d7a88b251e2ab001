// The keyboard, and the list of its keys.

import { byId, el } from "./dom.js";

/** Every key with what it does: [keys, words, act]. */
export function bind(keys) {
  const acts = new Map(keys.flatMap(([names, , act]) => names.map((name) => [name, act])));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    // Whoever has taken over a terminal means every key for it.
    if (byId("dialog").open || event.target.closest?.(".terminal.taken")) return;
    const isTyping = event.target.matches?.("input, textarea, select") && !event.target.closest(".terminal");
    if (isTyping && event.key !== "Escape") return;
    const act = acts.get(event.key);
    if (!act) return;
    if (act(event) !== false) event.preventDefault();
  });
}

/** Shows the list. */
export function help(keys) {
  const dialog = byId("dialog");
  dialog.oncancel = null;
  dialog.replaceChildren(
    el("h2", { id: "dialog-title", text: "Keys" }),
    el("dl", { class: "keys" }, keys.map(([names, words]) => el("div", {},
      el("dt", {}, names.map((name) => el("kbd", { text: name.replace("Escape", "esc").replace("Enter", "enter") }))),
      el("dd", { text: words })))),
    el("div", { class: "actions" }, el("button", { type: "button", text: "Close", autofocus: true, onclick: () => dialog.close() })),
  );
  dialog.showModal();
}
