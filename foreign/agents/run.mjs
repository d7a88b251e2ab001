// The real agents, each from an empty home and `chiton setup`, in their real loops with a model that plays a script.
//
//     node run.mjs PROGRAM DIRECTORY [CLIENT] [SCENARIO]
//
// What the model saw is compared with golden/CLIENT/SCENARIO.txt. UPDATE=1 writes these files anew, KEEP=1 leaves the
// homes and the requests in DIRECTORY for a look.

import { spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { clients } from "./clients.mjs";
import { places, serve } from "./model.mjs";
import { difference, normaliser, offered, transcript } from "./seen.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [program, directory, onlyClient, onlyScenario] = process.argv.slice(2);
const golden = process.env.GOLDEN ?? join(here, "golden");
const modules = process.env.MODULES ?? join(here, "node_modules");
const LIMIT = 120_000;

// Denied by a rule of the person, so that nothing which would really be dangerous is ever written down here.
const SETTINGS = `[[guard.rule]]
decision = "deny"
program = ["touch"]
any_argument = ["canary", "canary.txt"]
reason = "Canaries stay in their cage."
match = ["touch canary.txt"]
not_match = ["touch sparrow.txt"]
`;

function surroundings(client, scenario, model) {
  const root = resolve(directory, `${client.name}-${scenario}`);
  const [home, project] = [join(root, "home"), join(root, "project")];
  rmSync(root, { recursive: true, force: true });
  mkdirSync(join(home, ".config/chiton"), { recursive: true });
  mkdirSync(project, { recursive: true });
  writeFileSync(join(home, ".config/chiton/config.toml"), SETTINGS);
  writeFileSync(join(project, "notes.txt"), "one\ntwo\nthree\n");
  copyFileSync(join(here, "wait.sh"), join(project, "wait.sh"));
  spawnSync("git", ["init", "--quiet", "."], { cwd: project });
  const around = { url: model.url, root, home, project };
  const quiet = Object.fromEntries(["http_proxy", "https_proxy"].flatMap((name) => [[name, model.url], [name.toUpperCase(), model.url]]));
  const local = { no_proxy: "127.0.0.1,localhost", NO_PROXY: "127.0.0.1,localhost" };
  around.environment = { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8", TERM: "xterm-256color", ...quiet, ...local, ...client.environment(around) };
  return around;
}

function setup(client, { environment, project }) {
  const args = ["setup", client.name, "--replace"];
  const done = spawnSync(program, args, { cwd: project, env: environment, encoding: "utf8" });
  if (done.status !== 0) {
    throw new Error(`chiton ${args.join(" ")}: ${done.stderr}`);
  }
  return done.stdout;
}

function start(client, around) {
  const [command, ...first] = client.start(modules);
  const args = [...first, ...client.arguments("Play.", around)];
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: around.project, env: around.environment, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    const stop = setTimeout(() => process.kill(-child.pid, "SIGKILL"), LIMIT);
    [child.stdout, child.stderr].forEach((stream) => stream.on("data", (piece) => (output += piece)));
    child.on("error", (error) => resolve({ code: error.message, output }));
    child.on("close", (code, signal) => {
      clearTimeout(stop);
      resolve({ code: signal ? `${signal} after ${LIMIT} ms` : code, output });
    });
  });
}

// Setup chooses the dialect, and the dialect the names of the tools in a script.
function scenariosOf(client, model) {
  const around = surroundings(client, "setup", model);
  const [, dialect = "native"] = /runs: .* --dialect (\S+)/.exec(setup(client, around)) ?? [];
  rmSync(around.root, { recursive: true, force: true });
  return JSON.parse(readFileSync(join(here, "scenarios", `${dialect}.json`), "utf8"));
}

async function play(client, scenario, script, model) {
  const around = surroundings(client, scenario, model);
  const told = setup(client, around);
  client.prepare?.(around);
  model.play(script);
  const { code, output } = await start(client, around);
  const asked = model.requests.filter((one) => one.seen.tools.length);
  const last = asked.at(-1)?.seen ?? { results: [], tools: [], system: "", said: [] };
  const problems = [...model.problems];
  if (code !== 0) {
    problems.push(`${client.name} ended with ${code}: ${output.slice(-2000)}`);
  }
  const over = places(script, last.results).filter((one) => one.last).length;
  if (over < script.filter((turn) => !("say" in turn)).length) {
    problems.push(`the script has ${script.length} turns, and ${over} were played; the client said: ${output.slice(-2000)}`);
  }
  if (process.env.KEEP) {
    writeFileSync(join(around.root, "requests.json"), JSON.stringify(model.requests, null, 1));
    writeFileSync(join(around.root, "output.txt"), output);
  }
  const plain = normaliser({ ...around, program: resolve(program) });
  const saw = scenario === "offered" ? plain(`${told}\n${offered(asked[0]?.seen ?? last)}`) : transcript(model, last, plain);
  spawnSync(program, ["kill", "--all"], { env: around.environment });
  if (!process.env.KEEP) {
    rmSync(around.root, { recursive: true, force: true });
  }
  return { saw: `${saw.trimEnd()}\n`, problems };
}

function compare(client, scenario, saw) {
  const file = join(golden, client.name, `${scenario}.txt`);
  if (process.env.UPDATE) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, saw);
    return "";
  }
  const before = existsSync(file) ? readFileSync(file, "utf8") : "";
  return before === saw ? "" : difference(before, saw);
}

const model = await serve();
let failures = 0;
for (const client of clients.filter((one) => !onlyClient || one.name === onlyClient)) {
  if (!existsSync(client.start(modules).at(-1))) {
    console.log(`${client.name}: ${client.package} is not installed here, left out`);
    continue;
  }
  const scenarios = scenariosOf(client, model);
  let same = 0;
  for (const [scenario, script] of Object.entries(scenarios).filter(([name]) => !onlyScenario || name === onlyScenario)) {
    const { saw, problems } = await play(client, scenario, script, model);
    const differs = compare(client, scenario, saw);
    problems.forEach((problem) => console.log(`${client.name}, ${scenario}: ${problem}`));
    if (differs) {
      console.log(`${client.name}, ${scenario}: the model saw something else (UPDATE=1 accepts it)\n${differs}`);
    }
    failures += problems.length || differs ? 1 : 0;
    same += problems.length || differs ? 0 : 1;
  }
  const { version } = JSON.parse(readFileSync(join(modules, client.package, "package.json"), "utf8"));
  console.log(`${client.name} ${version}: ${same} of ${Object.keys(scenarios).length} scenarios as recorded`);
}
model.close();
process.exit(failures ? 1 : 0);
