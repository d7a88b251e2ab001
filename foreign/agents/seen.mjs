// What a model saw, as text that is the same on every run.

import { places } from "./model.mjs";

// A result of more than 40 lines, or of more than 4000 characters, is shown with its beginning, its end, and the lines in
// brackets between: those say what was left out.
const LONG = { lines: 40, characters: 4000 };
const LINES = 12;

// The calls of a script and their results, in order. Of a turn that came again and again only the last one.
export function transcript({ script, calls }, seen, plain) {
  const shown = places(script, seen.results)
    .map((place, index) => ({ ...place, call: calls[index], result: seen.results[index] }))
    .filter((one) => one.last && one.call)
    .map(({ call, result }) => {
      const mark = result.error ? "(marked as an error)\n" : "";
      const said = `${call.own ? "(its own tool) " : ""}${call.tool} ${JSON.stringify(call.arguments)}`;
      return `> ${plain(said)}\n${mark}${short(plain(result.text))}\n`;
    });
  return shown.join("\n");
}

function short(text) {
  const lines = text.split("\n");
  if (text.length <= LONG.characters && lines.length <= LONG.lines) {
    return text;
  }
  const cut = (line) => (line.length > 300 ? `${line.slice(0, 150)} [… ${line.length - 300} characters …] ${line.slice(-150)}` : line);
  const head = lines.slice(0, LINES).map(cut);
  const tail = lines.length > LINES ? lines.slice(Math.max(LINES, lines.length - LINES)).map(cut) : [];
  const between = lines.slice(head.length, lines.length - tail.length);
  const said = between.filter((line) => /^\s*[[<.(].*[a-z]/.test(line)).map(cut);
  return [...head, `<< ${between.length} more lines here, ${text.length} characters in all; among them: >>`, ...said, "<< … >>", ...tail].join("\n");
}

// The tools that the first request had, and what it said about the server.
export function offered(seen) {
  const parameters = (one) => Object.keys(one.schema?.properties ?? {}).join(", ");
  const ours = seen.tools.filter((one) => one.ours);
  const own = seen.tools.filter((one) => !one.ours && /bash|shell|exec|stdin|background|tool_?search/i.test(one.name));
  const about = new Set(ours.map((one) => one.about).filter(Boolean));
  const words = [...seen.system.split("\n"), ...seen.said.join("\n").split("\n")].map((line) => line.trim());
  // Codex describes a search for tools instead of the tools.
  const search = seen.tools.filter((one) => /chiton/i.test(one.description) && !one.ours).map((one) => `${one.name}: ${one.description}`);
  const paragraphs = mentions(words);
  return [
    "Tools of the server:",
    ...ours.map((one) => `  ${one.name}(${parameters(one)})${one.description ? "" : ", without a description"}${one.deferred ? ", deferred" : ""}\n    ${one.description.split("\n").join("\n    ")}`),
    "",
    `Its own tools for commands: ${own.map((one) => one.name).join(", ") || "none"}`,
    "",
    "What else it read about the server:",
    ...[...about, ...search, ...paragraphs].map((line) => `  ${line.split("\n").join("\n  ")}`),
    "",
  ].join("\n");
}

// Lines with our name, and those up to the end of the paragraph.
function mentions(lines) {
  const found = [];
  lines.forEach((line, index) => {
    if (/chiton/i.test(line) && !found.includes(line)) {
      found.push(line);
      for (const after of lines.slice(index + 1)) {
        if (!after || /^<\/|^---\[end/.test(after) || found.includes(after)) {
          break;
        }
        found.push(after);
      }
    }
  });
  return found;
}

// Without what differs from run to run: places, ids, times, sizes of either.
export function normaliser({ root, home, project, program }) {
  const numbered = (kind) => {
    const known = new Map();
    return (id) => {
      if (!known.has(id)) {
        known.set(id, `${kind}${known.size + 1}`);
      }
      return known.get(id);
    };
  };
  const [id, pid, chunk, session] = ["ID", "PID", "CHUNK", "SESSION"].map(numbered);
  return (text) =>
    text
      .replaceAll(program, "/path/to/chiton")
      .replaceAll(project, "/project")
      .replaceAll(project.replaceAll("/", "-"), "-project")
      .replaceAll(home, "/home")
      .replaceAll(root, "/root")
      .replace(/\b((?:shell|bash|task|run)_)(?!metadata\b)[0-9a-z]{6,}\b/g, (all, kind) => `${kind}${id(all)}`)
      .replace(/\btool_[0-9A-Za-z]{20,}\b/g, (all) => `tool_${id(all)}`)
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, id)
      .replace(/(chunk_id":"|Chunk ID: )([0-9a-f]{6})/gi, (all, before, it) => `${before}${chunk(it)}`)
      .replace(/(session_id":|session ID |session )(\d{4,})/g, (all, before, it) => `${before}${session(it)}`)
      .replace(/((?:PGID|PIDs?|pid|process(?: id)?|Process ID)(?: is)?[:"]*\s*)(\d+)/g, (all, before, it) => `${before}${it === "0" ? it : pid(it)}`)
      .replace(/\b\d+(?:\.\d+)? ?(?:ms|s|seconds|milliseconds)\b/g, (all) => (/^(?:120|600|300|30|10) ?s$/.test(all) ? all : "TIME"))
      .replace(/("(?:wall_time_seconds|duration_ms|duration|elapsed_ms)": ?)[\d.]+/g, "$1TIME")
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/g, "DATE")
      .replace(/chiton 0\.\d+\.\d+/g, "chiton VERSION")
      .replace(/[ \t]+$/gm, "");
}

export function difference(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const gone = old.filter((line) => !now.includes(line)).map((line) => `  - ${line}`);
  const come = now.filter((line) => !old.includes(line)).map((line) => `  + ${line}`);
  return [...gone, ...come].join("\n") || "  the same lines in another order";
}
