// Light, dark, or as the system has it. The choice stays in this browser.

import { byId } from "./dom.js";

const CHOICES = ["auto", "light", "dark"];
const SIGNS = { auto: "◐", light: "○", dark: "●" };
const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set();

let choice = read();

function read() {
  try {
    const kept = localStorage.getItem("theme");
    return CHOICES.includes(kept) ? kept : "auto";
  } catch {
    return "auto";
  }
}

/** Whether the page is dark now. */
export const isDark = () => (choice === "auto" ? dark.matches : choice === "dark");

/** Calls back when the colours change. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function show() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  const button = byId("theme");
  button.textContent = SIGNS[choice];
  const words = { auto: "as the system", light: "light", dark: "dark" };
  button.title = `Colours: ${words[choice]} (t)`;
  button.setAttribute("aria-label", `Colours: ${words[choice]}`);
  for (const listener of listeners) listener();
}

/** The next choice. */
export function turn() {
  choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
  try {
    localStorage.setItem("theme", choice);
  } catch {
    // It holds as long as the page is open.
  }
  show();
}

dark.addEventListener("change", show);
byId("theme").addEventListener("click", turn);
show();
