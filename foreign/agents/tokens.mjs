// How many tokens a model reads, per dialect, beside what the shell of Claude Code would have given for the same calls.
//
//     node tokens.mjs DIRECTORY PROGRAM [PROGRAM_BEFORE]
//
// Each session of sessions/*.json is played against `chiton mcp --dialect D`, and against a bash whose output is given the
// form of Claude Code's own tool. Tokens are those of o200k. SHOW=1 prints every reply with its count,
// DIALECT=native,codex plays only these, TEXT=1 counts the text even where there is structuredContent.
//
// What a model reads of a reply is decided by the client: Claude Code shows structuredContent, where there is some and
// the reply is not an error, and the text otherwise; Codex shows structuredContent wherever there is some.

import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

const here = dirname(fileURLToPath(import.meta.url));
const [directory, ...programs] = process.argv.slice(2);
const project = resolve(directory, "project");
const state = resolve(directory, "state");

const clients = {
  "claude-code": (result) => (result.structuredContent && !result.isError ? JSON.stringify(result.structuredContent) : texts(result)),
  "codex-mcp-client": (result) => (result.structuredContent ? JSON.stringify(result.structuredContent) : texts(result)),
};
// To see what a reply would cost if it were text alone.
if (process.env.TEXT) {
  Object.keys(clients).forEach((name) => (clients[name] = texts));
}
function texts(result) {
  return result.content.map((block) => block.text ?? "").join("\n");
}

// The call of each kind in each dialect; `id` is what the reply to `start` named. What a dialect cannot do is left out of
// its sum, and out of the sum that it is compared with.
const shell = /(?:shell|bash|task|run)_[0-9a-z]{6,}|\bb[0-9a-z]{8}\b/;
const bash = (more) => ({
  run: (command) => ["Bash", { command }],
  start: (command) => ["Bash", { command, run_in_background: true }],
  read: (id) => ["BashOutput", { bash_id: id }],
  id: shell,
  ...more,
});
const surfaces = {
  native: bash({
    read: (id, until) => ["BashOutput", { bash_id: id, wait_for: until, wait: 10000 }],
    kill: (id) => ["KillShell", { bash_id: id }],
    talk: (command) => ["Bash", { command, pty: true, wait: 1000 }],
    type: (id, text) => ["BashInput", { bash_id: id, text }],
  }),
  claude: bash({ read: undefined, kill: (id) => ["TaskStop", { task_id: id }] }),
  "claude-2025": bash({ kill: (id) => ["KillShell", { shell_id: id }] }),
  codex: {
    run: (cmd) => ["exec_command", { cmd }],
    start: (cmd) => ["exec_command", { cmd, yield_time_ms: 250 }],
    read: (id) => ["write_stdin", { session_id: Number(id), chars: "" }],
    kill: (id) => ["write_stdin", { session_id: Number(id), chars: "\u0003" }],
    talk: (cmd) => ["exec_command", { cmd, tty: true, yield_time_ms: 1000 }],
    type: (id, chars) => ["write_stdin", { session_id: Number(id), chars }],
    id: /session(?:_id| ID)\D{1,3}(\d+)/,
  },
  gemini: {
    run: (command) => ["run_shell_command", { command }],
    start: (command) => ["run_shell_command", { command, is_background: true }],
    read: (id) => ["read_background_output", { pid: Number(id) }],
    kill: (id) => ["run_shell_command", { command: `kill ${id}` }],
    id: /PID: ?(\d+)/,
  },
  anthropic: { run: (command) => ["bash", { command }] },
  "opencode-cli": { run: (command) => ["bash", { command, description: "As asked" }] },
  opencode: bash({ kill: (id) => ["KillShell", { shell_id: id }] }),
  wave: bash({ kill: (id) => ["KillBash", { shell_id: id }] }),
  boris: {
    run: (command) => ["bash", { command }],
    start: (command) => ["bash", { command, run_in_background: true }],
    read: (id) => ["task_output", { task_id: id }],
    id: shell,
  },
  modes: { run: (command) => ["bash", { command }] },
  exec: {
    run: (command) => ["exec", { command }],
    start: (command) => ["exec_bg", { command }],
    read: (id) => ["exec_status", { id }],
    kill: (id) => ["exec_stop", { id }],
    id: shell,
  },
};
const rows = [...Object.keys(surfaces).map((dialect) => ({ dialect, client: "claude-code" })),
  { dialect: "native", client: "codex-mcp-client" }, { dialect: "codex", client: "codex-mcp-client" }];

function freshProject() {
  [project, state].forEach((folder) => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(project, { recursive: true });
  const made = spawnSync("bash", [join(here, "sessions/project.sh")], { cwd: project, encoding: "utf8" });
  if (made.status !== 0) {
    throw new Error(`the project could not be made: ${made.stderr}`);
  }
}

const environment = { PATH: process.env.PATH, HOME: directory, LANG: "C.UTF-8", TERM: "dumb" };
const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

// The server in one dialect, as one client is served.
class Server {
  constructor(program, { dialect, client }) {
    this.program = program;
    this.surface = surfaces[dialect];
    this.shown = clients[client];
    const args = ["--state-dir", state, "mcp", "--dialect", dialect];
    this.child = spawn(program, args, { cwd: project, env: environment, stdio: ["pipe", "pipe", "ignore"] });
    // A program that does not know the dialect is gone before it is greeted.
    this.child.stdin.on("error", () => {});
    this.waiting = new Map();
    this.ids = new Map();
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      this.waiting.get(message.id)?.(message);
    });
    this.ended = new Promise((resolve) => this.child.on("close", resolve));
    this.client = client;
  }

  ask(method, params) {
    const id = this.waiting.size + 1;
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return Promise.race([new Promise((resolve) => this.waiting.set(id, resolve)), this.ended.then(() => ({}))]);
  }

  async greet() {
    const hello = await this.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: this.client, version: "1" } });
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`);
    return Boolean(hello.result);
  }

  async call([name, args]) {
    const { result, error } = await this.ask("tools/call", { name, arguments: args });
    return result ? this.shown(result) : JSON.stringify(error);
  }

  // What the model reads for one call of a session, or nothing where the dialect cannot do it.
  async play(step) {
    const { surface, ids } = this;
    const id = ids.get(step.read ?? step.kill ?? step.to);
    if (step.run) {
      return this.call(surface.run(step.run));
    }
    const start = step.terminal ? surface.talk : surface.start;
    if (step.start) {
      const reply = start && (await this.call(start(step.start)));
      const found = reply && surface.id.exec(reply);
      ids.set(step.as, found && (found[1] ?? found[0]));
      this.heard = reply ?? "";
      return reply;
    }
    if (step.read && surface.read && id) {
      return this.until(step.until, () => surface.read(id, step.until));
    }
    if (step.kill && surface.kill && id) {
      return this.call(surface.kill(id));
    }
    return step.to && surface.type && id ? this.call(surface.type(id, step.type)) : undefined;
  }

  // Only the reading that brings what is waited for counts: how many there were before is a matter of speed. It may have
  // come before, with the reply to the start.
  async until(wanted, make) {
    let reply = "";
    for (let tries = 0; tries < 30; tries += 1) {
      reply = await this.call(make());
      this.heard += reply;
      if (new RegExp(wanted).test(this.heard)) {
        break;
      }
      await pause(100);
    }
    this.heard = "";
    return reply;
  }

  // What a session left running would outlive the server.
  async stop() {
    this.child.stdin.end();
    await this.ended;
    spawnSync(this.program, ["--state-dir", state, "kill", "--all"], { env: environment });
  }
}

// bash, with its output in the form that Claude Code 2.1.325 gives its own tool.
class BuiltIn {
  constructor() {
    this.directory = project;
    this.tasks = new Map();
  }

  async play(step) {
    if (step.run) {
      return this.run(step.run);
    }
    const task = this.tasks.get(step.read ?? step.kill);
    if (step.start && !step.terminal) {
      return this.start(step);
    }
    if (step.read) {
      return this.read(task, step.until);
    }
    if (step.kill) {
      process.kill(-task.child.pid, "SIGTERM");
      const [id, command] = ["b1a2b3c4d", task.command];
      return JSON.stringify({ message: `Successfully stopped task: ${id} (${command})`, task_id: id, task_type: "local_bash", command });
    }
    return undefined;
  }

  run(command) {
    const where = join(state, "directory");
    const script = `cd "$0" && eval "$1" && pwd -P > "$2"`;
    const output = join(state, "output");
    const file = openSync(output, "w");
    const { status } = spawnSync("bash", ["-c", script, this.directory, command, where], { cwd: project, env: environment, stdio: ["ignore", file, file] });
    closeSync(file);
    if (status === 0) {
      this.directory = readFileSync(where, "utf8").trim();
    }
    return form(command, status, readFileSync(output, "utf8").trim());
  }

  start({ start, as }) {
    const output = join(state, `${as}.output`);
    const file = openSync(output, "w");
    const child = spawn("bash", ["-c", start], { cwd: this.directory, env: environment, stdio: ["ignore", file, file], detached: true });
    closeSync(file);
    this.tasks.set(as, { child, output, seen: 0, command: start });
    const path = "/tmp/claude-0/-home-ada-shop/f28cbb8d-96ee-4322-a5a5-2a18ef90eb5c/tasks/b1a2b3c4d.output";
    return `Command running in background with ID: b1a2b3c4d. Output is being written to: ${path}. You will be notified when it completes. To check interim output, use Read on that file path.`;
  }

  // Only the lines that are new, although the model may well read all of them again.
  async read(task, until) {
    for (let tries = 0; tries < 100; tries += 1) {
      const lines = readFileSync(task.output, "utf8").split("\n");
      if (new RegExp(until).test(lines.slice(task.seen).join("\n"))) {
        const shown = lines.slice(task.seen).map((line, index) => `${task.seen + index + 1}\t${line}`);
        task.seen = lines.length - 1;
        return shown.join("\n");
      }
      await pause(100);
    }
    throw new Error(`${until} never came`);
  }
}

function form(command, status, text) {
  const harmless = status === 1 && /^(?:grep|rg|find|diff|test|\[)\b/.test(command.split("|").at(-1).trim());
  if (status !== 0 && !harmless) {
    const middle = text.length > 10_000 ? `${text.slice(0, 5000)}\n\n... [${text.length - 10_000} characters truncated] ...\n\n${text.slice(-5000)}` : text;
    return `Exit code ${status}${middle ? `\n${middle}` : ""}`;
  }
  if (text.length > 30_000) {
    const path = "/home/ada/.claude/projects/-home-ada-shop/f28cbb8d-96ee-4322-a5a5-2a18ef90eb5c/tool-results/bm4ihantv.txt";
    return `<persisted-output>\nOutput too large (${(text.length / 1024).toFixed(1)}KB). Full output saved to: ${path}\n\nPreview (first 2KB):\n${text.slice(0, 2000)}\n...\n</persisted-output>`;
  }
  return text || "(Bash completed with no output)";
}

const sessions = readdirSync(join(here, "sessions")).filter((name) => name.endsWith(".json")).sort();
const calls = (name) => JSON.parse(readFileSync(join(here, "sessions", name), "utf8")).calls;

// The tokens of every call of every session; `undefined` where it cannot be made.
async function measure(who, make) {
  const counts = [];
  for (const name of sessions) {
    freshProject();
    mkdirSync(state, { recursive: true });
    const player = await make();
    if (!player) {
      return undefined;
    }
    for (const step of calls(name)) {
      const reply = await player.play(step);
      const count = reply === undefined ? undefined : countTokens(reply);
      counts.push({ session: name, count });
      if (process.env.SHOW && reply !== undefined) {
        console.log(`--- ${who}, ${name}, ${count} tokens: ${JSON.stringify(step)}\n${reply.length > 3000 ? `${reply.slice(0, 1500)}\n[…]\n${reply.slice(-1500)}` : reply}`);
      }
    }
    await player.stop?.();
  }
  return counts;
}

const sum = (counts, where = () => true) => counts.filter((one, index) => where(one, index)).reduce((total, one) => total + (one.count ?? 0), 0);
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
[project, state].forEach((folder) => rmSync(folder, { recursive: true, force: true }));
