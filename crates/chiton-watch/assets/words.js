// Numbers, times and states as people read them.

/** How long something took. */
export function span(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, "0")} m`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** An amount of bytes. */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = count / 1000;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export const number = (count) => count.toLocaleString("en");

/** A moment: the time, and the day where it is not today. */
export function moment(ms) {
  const at = new Date(ms);
  const time = at.toLocaleTimeString("en-GB");
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${time}`;
}

/** How long ago a moment was. */
export const ago = (ms) => (ms < 1500 ? "now" : `${span(Math.floor(ms / 1000) * 1000).replace(".0 s", " s")} ago`);

/** A command on one line. */
export const oneLine = (text) => text.replace(/\s+/gu, " ").trim();

/** The end of a path, which says more than its beginning. */
export function endOf(path, most = 40) {
  const characters = [...path];
  return characters.length <= most ? path : `…${characters.slice(characters.length - most + 1).join("")}`;
}

const STATES = {
  pending: ["running", "starting"],
  running: ["running", "running"],
  completed: ["well", "completed"],
  failed: ["badly", "failed"],
  timeout: ["badly", "timed out"],
  killed: ["badly", "stopped"],
  lost: ["badly", "lost"],
};

/** The state of a run: its kind, its sign and its words. */
export function state(run) {
  if (run.wait) return { kind: "waiting", words: "waits for you" };
  const [kind, words] = STATES[run.status] ?? ["badly", run.status];
  if (run.status === "failed" && run.exit_code !== null) return { kind, words: `exit ${run.exit_code}` };
  if (run.status === "failed" && run.signal) return { kind, words: run.signal };
  return { kind, words };
}

/** What a run did to files, in a few words. */
export function files(changed) {
  const parts = [["made", changed.made], ["changed", changed.changed], ["removed", changed.removed]];
  return parts.filter(([, count]) => count > 0).map(([word, count]) => `${number(count)} ${word}`).join(", ");
}
