// How many tokens a model reads, per dialect, beside what the shell of Claude Code would have given for the same calls.
//
//     node tokens.mjs DIRECTORY ROOT PROGRAM [PROGRAM_BEFORE]
//
// Each session of sessions/*.json is played against `chiton mcp --dialect D`, and against a bash whose output is given the
// form of Claude Code's own tool. DIRECTORY is for the project and the state, ROOT is the repository, which has the
// recordings. DIALECT=native,codex plays only these. See play.mjs for what is counted.

import { resolve } from "node:path";
import { BuiltIn, Server, clean, measure, rows, sessions, sum } from "./play.mjs";

const programs = process.argv.slice(4);
const wanted = rows.filter(({ dialect }) => !process.env.DIALECT || process.env.DIALECT.split(",").includes(dialect));
const builtIn = await measure("built in", () => new BuiltIn());
const table = [];
const bySession = [];
for (const row of wanted) {
  const cells = [];
  for (const program of programs) {
    const counts = await measure(`${row.dialect} for ${row.client}`, async () => {
      const server = new Server(resolve(program), row);
      return (await server.greet()) ? server : undefined;
    });
    const both = counts && ((one, index) => builtIn[index].count !== undefined && counts[index].count !== undefined);
    const [ours, theirs] = counts ? [sum(counts, both), sum(builtIn, both)] : [];
    cells.push(counts ? `${ours} | ${(ours / theirs).toFixed(2)} ×` : "– | –");
    if (counts && program === programs[0] && row.dialect === "native" && row.client === "claude-code") {
      sessions.forEach((name) => bySession.push(`| ${name.replace(".json", "")} | ${sum(counts, (one, at) => one.session === name && both(one, at))} | ${sum(builtIn, (one, at) => one.session === name && both(one, at))} | ${sum(counts, (one) => one.session === name)} |`));
    }
  }
  process.stderr.write(`${row.dialect} for ${row.client}: ${cells.join(", ")}\n`);
  table.push(`| \`${row.dialect}\` | ${row.client === "claude-code" ? "Claude Code" : "Codex"} | ${cells.join(" | ")} |`);
}
const columns = programs.map((program, index) => (programs.length > 1 ? ["now", "before"][index] : "tokens"));
console.log(`\nThe built-in tool of Claude Code: ${sum(builtIn)} tokens in ${sessions.length} sessions; × is to its part for the same calls.\n`);
console.log(`| dialect | shown by | ${columns.map((column) => `${column} | of built-in`).join(" | ")} |`);
console.log(`|---|---|${columns.map(() => "---|---|").join("")}`);
console.log(table.join("\n"));
if (bySession.length) {
  console.log("\n`native` in Claude Code, by session: the calls that both can make, and all\n\n| session | native | built-in | all calls |\n|---|---|---|---|");
  console.log(bySession.join("\n"));
}
clean();
