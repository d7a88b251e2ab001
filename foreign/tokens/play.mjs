// Plays the recorded sessions, and counts the tokens of what a model reads: see tokens.mjs and table.mjs.
//
// Tokens are those of o200k. SHOW=1 prints every reply with its count, TEXT=1 counts the text even where there is
// structuredContent. Programs whose output was recorded (cargo, pytest, npm …) are played by stand-ins of their name; git,
// grep, ls, python3 and the like are real.
//
// What a model reads of a reply is decided by the client: Claude Code shows structuredContent, where there is some and
// the reply is not an error, and the text otherwise; Codex shows structuredContent wherever there is some.

import { spawn, spawnSync } from "node:child_process";
import { chmodSync, closeSync, copyFileSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

const here = dirname(fileURLToPath(import.meta.url));
const recordings = resolve(process.argv[3], "crates/chiton-dialects/tests/outputs");
const directory = resolve(process.argv[2]);
const [project, state, stand] = ["project", "state", "bin"].map((name) => join(directory, name));

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
export const rows = [...Object.keys(surfaces).map((dialect) => ({ dialect, client: "claude-code" })),
  { dialect: "native", client: "codex-mcp-client" }, { dialect: "codex", client: "codex-mcp-client" }];

export function clean() {
  [project, state, stand].forEach((folder) => rmSync(folder, { recursive: true, force: true }));
}

// The project afresh, and programs that print what was recorded. `plays` are pairs: a command, and the recording that it
// prints; of several for one command, each has its turn, and the last one stays.
function freshProject(plays) {
  clean();
  [project, state, stand].forEach((folder) => mkdirSync(folder, { recursive: true }));
  const turns = {};
  for (const [command, recording] of plays) {
    (turns[command] ??= []).push(join(recordings, recording));
  }
  writeFileSync(join(stand, "turns.json"), JSON.stringify(turns));
  // Whatever the folders above say, a program without an ending is CommonJS.
  writeFileSync(join(stand, "package.json"), "{}");
  for (const program of new Set(plays.map(([command]) => command.split(" ")[0]))) {
    copyFileSync(join(here, "stand-in.cjs"), join(stand, program));
    chmodSync(join(stand, program), 0o755);
  }
  const made = spawnSync("bash", [join(here, "sessions/project.sh")], { cwd: project, encoding: "utf8" });
  if (made.status !== 0) {
    throw new Error(`the project could not be made: ${made.stderr}`);
  }
}

const environment = { PATH: `${stand}:${process.env.PATH}`, HOME: directory, LANG: "C.UTF-8", TERM: "dumb" };
const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));

// The server in one dialect, as one client is served.
export class Server {
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
export class BuiltIn {
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
    return form(command, this.execute(command), this.output().trim());
  }

  output() {
    return readFileSync(join(state, "output"), "utf8");
  }

  execute(command) {
    const where = join(state, "directory");
    const script = `cd "$0" && eval "$1" && pwd -P > "$2"`;
    const output = join(state, "output");
    const file = openSync(output, "w");
    const { status } = spawnSync("bash", ["-c", script, this.directory, command, where], { cwd: project, env: environment, stdio: ["ignore", file, file] });
    closeSync(file);
    if (status === 0) {
      this.directory = readFileSync(where, "utf8").trim();
    }
    return status;
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

  shown(lines, from) {
    return lines.map((line, index) => `${from + index + 1}\t${line}`).join("\n");
  }

  // Only the lines that are new, although the model may well read all of them again.
  async read(task, until) {
    for (let tries = 0; tries < 100; tries += 1) {
      const lines = readFileSync(task.output, "utf8").split("\n");
      if (new RegExp(until).test(lines.slice(task.seen).join("\n"))) {
        const [from, fresh] = [task.seen, lines.slice(task.seen)];
        task.seen = lines.length - 1;
        return this.shown(fresh, from);
      }
      await pause(100);
    }
    throw new Error(`${until} never came`);
  }
}

// The same, with output in the form that Codex gives its own tool: `exec_command` and `write_stdin`.
export class CodexBuiltIn extends BuiltIn {
  run(command) {
    return this.chunk(`Process exited with code ${this.execute(command)}`, this.output());
  }

  start({ start, as }) {
    super.start({ start, as });
    return this.chunk("Process running with session ID 48213", "");
  }

  async play(step) {
    if (step.kill) {
      process.kill(-this.tasks.get(step.kill).child.pid, "SIGTERM");
      return this.chunk("Process exited with code 130", "");
    }
    return super.play(step);
  }

  shown(lines) {
    return this.chunk("Process running with session ID 48213", lines.join("\n"));
  }

  chunk(ending, text) {
    const tokens = Math.ceil(Buffer.byteLength(text) / 4);
    let body = text;
    if (tokens > 10_000) {
      const cut = `${text.slice(0, 20_000)}…${tokens - 10_000} tokens truncated…${text.slice(-20_000)}`;
      body = `Warning: truncated output (original token count: ${tokens})\nTotal output lines: ${text.split("\n").length}\n\n${cut}`;
    }
    return `Chunk ID: 3fa94c\nWall time: 0.0512 seconds\n${ending}\nOriginal token count: ${tokens}\nOutput:\n${body}`;
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

export const sessions = readdirSync(join(here, "sessions")).filter((name) => name.endsWith(".json")).sort();
export const session = (name) => JSON.parse(readFileSync(join(here, "sessions", name), "utf8"));

// The tokens of lines that say what no reply said before: what a task listens on, and what changed since the last call.
const told = (reply) => (reply.match(/^\[(?:listening on|shell_\w+(?: \(.*\))? (?:ended|waits)|shell_\w+: \d+ lines? match).*\]$/gm) ?? []).reduce((all, line) => all + countTokens(`${line}\n`), 0);

// The tokens of every call of every session; `undefined` where it cannot be made.
export async function measure(who, make) {
  const counts = [];
  for (const name of sessions) {
    const { calls, plays = [] } = session(name);
    freshProject(plays);
    const player = await make();
    if (!player) {
      return undefined;
    }
    for (const step of calls) {
      // The same path everywhere, lest its length count.
      const reply = (await player.play(step))?.replaceAll(project, "/home/ada/shop");
      if (reply?.includes("stand-in: ") || reply?.includes(stand)) {
        throw new Error(`${name}: ${reply}`);
      }
      const count = reply === undefined ? undefined : countTokens(reply);
      counts.push({ session: name, count, told: told(reply ?? "") });
      if (process.env.SHOW && reply !== undefined) {
        console.log(`--- ${who}, ${name}, ${count} tokens: ${JSON.stringify(step)}\n${reply.length > 3000 ? `${reply.slice(0, 1500)}\n[…]\n${reply.slice(-1500)}` : reply}`);
      }
    }
    await player.stop?.();
  }
  return counts;
}

export const sum = (counts, where = () => true) => counts.filter((one, index) => where(one, index)).reduce((total, one) => total + (one.count ?? 0), 0);
