// docs/tokens.md: the tokens of every session in `native`, `claude` and `codex`, before output was compacted and now,
// beside the same sessions in the form of Claude Code's own tool and of Codex's.
//
//     node table.mjs DIRECTORY ROOT PROGRAM [--save] [--check] [--before]
//
// --save writes the page, --check fails where a goal is missed, --before writes before.json instead, from a program of the
// time before. See play.mjs for what is counted.

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { BuiltIn, CodexBuiltIn, Server, clean, measure, session, sessions, sum } from "./play.mjs";

const [, , , root, program, ...wishes] = process.argv;
const data = join(root, "foreign/tokens/before.json");
const dialects = [
  { dialect: "native", client: "claude-code" },
  { dialect: "claude", client: "claude-code" },
  { dialect: "codex", client: "codex-mcp-client" },
];

const bySession = (counts) => Object.fromEntries(sessions.map((name) => [name, sum(counts, (one) => one.session === name)]));

// What a terminal shows, and whether a server is ready, is a matter of moments: the middle one of three rounds counts.
const ROUNDS = 3;
const middle = (rounds) => Object.fromEntries(sessions.map((name) => [name, rounds.map((one) => one[name]).sort((a, b) => a - b)[1]]));

const [now, told] = [{}, {}];
for (const row of dialects) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push(
      await measure(`${row.dialect} for ${row.client}`, async () => {
        const server = new Server(resolve(program), row);
        return (await server.greet()) ? server : undefined;
      }),
    );
  }
  now[row.dialect] = middle(rounds.map(bySession));
  told[row.dialect] = middle(rounds.map((counts) => bySession(counts.map((one) => ({ ...one, count: one.told })))));
  process.stderr.write(`${row.dialect}: ${rounds.map((counts) => sum(counts)).join(", ")}\n`);
}
if (wishes.includes("--before")) {
  writeFileSync(data, `${JSON.stringify(now, null, 2)}\n`);
  clean();
  process.exit(0);
}
const theirs = { claude: bySession(await measure("Claude Code", () => new BuiltIn())), codex: bySession(await measure("Codex", () => new CodexBuiltIn())) };
clean();
const before = JSON.parse(readFileSync(data, "utf8"));

// Ids differ in length in tokens, times in digits, and a terminal is read at another moment: so much is not a difference.
const NOISE = 25;
const short = (name) => name.replace(".json", "");
const less = (was, is) => (was === 0 ? "" : `${is <= was ? "−" : "+"}${Math.abs(Math.round((100 * (was - is)) / was))} %`);
const total = (numbers, names) => names.reduce((all, name) => all + numbers[name], 0);
const columns = (title, of) => {
  const pairs = dialects.map(({ dialect }) => [of(before[dialect]), of(now[dialect])]);
  const cells = pairs.map(([was, is]) => `${was} | ${is} | ${less(was, is)}`);
  return `| ${title} | ${cells.join(" | ")} | ${of(theirs.claude)} | ${of(theirs.codex)} |`;
};
const heavy = sessions.filter((name) => session(name).kind === "builds and tests");
const table = [
  `| session | ${dialects.map(({ dialect }) => `\`${dialect}\` before | now | `).join(" | ")} | Claude Code's own | Codex's own |`,
  `|---|${"---:|".repeat(3 * dialects.length + 2)}`,
  ...sessions.map((name) => columns(`${short(name)}${heavy.includes(name) ? " *" : ""}`, (numbers) => numbers[name])),
  columns("**builds and tests \\***", (numbers) => total(numbers, heavy)),
  columns("**all**", (numbers) => total(numbers, sessions)),
].join("\n");
console.log(table);

if (wishes.includes("--save")) {
  const page = join(root, "docs/tokens.md");
  const [begin, end] = ["<!-- table: cargo xtask bench tokens --save -->\n", "<!-- end -->\n"];
  const text = readFileSync(page, "utf8");
  const [first, last] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
  writeFileSync(page, `${text.slice(0, first)}${table}\n${text.slice(last)}`);
}
const missed = [
  ...sessions.filter((name) => now.native[name] - told.native[name] > before.native[name] + NOISE).map((name) => `${short(name)}: native takes more than before`),
  ...heavy.filter((name) => now.native[name] > 0.6 * before.native[name]).map((name) => `${short(name)}: native is less than 40 % below before`),
];
missed.forEach((line) => console.error(line));
process.exit(wishes.includes("--check") && missed.length > 0 ? 1 : 0);
