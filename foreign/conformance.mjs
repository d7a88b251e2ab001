// The official conformance suite against the server, in both its versions.
//
//     node conformance.mjs PROGRAM STATE_DIRECTORY
//
// conformance/VERSION.json says what is expected of each scenario:
//
//     "passes"                    it passes, and the server did what the scenario is about
//     "passes with fixtures"      it passes through a door that gives the fixture's name to one of our tools (door.mjs)
//     { "hollow": why }           it passes, and shows nothing: it is not counted as a pass
//     { "fails": [check], "because": why }
//                                 exactly these checks fail, or end with a warning; with "fixtures": true, through the door
//
// Whatever comes out differently ends this with an error. UPDATE=1 prints what came out instead.

import { execFile, spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { open } from "./door.mjs";

const [program, state, only] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const read = (name) => JSON.parse(readFileSync(join(here, name), "utf8"));

const versions = [
  { version: "0.1.16", folder: "node_modules/@modelcontextprotocol/conformance" },
  { version: "0.2.0-alpha.12", folder: "node_modules/conformance-next", more: ["--spec-version", "2026-07-28", "--force"] },
];

// A rule that asks, one that denies: the scenarios about questions and errors need a command for each.
const SETTINGS = `[[guard.rule]]
decision = "ask"
program = ["touch"]
any_argument = ["sparrow.txt"]
reason = "Sparrows are asked about."
match = ["touch sparrow.txt"]

[[guard.rule]]
decision = "deny"
program = ["touch"]
any_argument = ["canary.txt"]
reason = "Canaries stay in their cage."
match = ["touch canary.txt"]
`;

async function serve(doors, place) {
  mkdirSync(join(place, "work"), { recursive: true });
  const settings = join(place, "settings.toml");
  writeFileSync(settings, SETTINGS);
  const hosts = doors.flatMap(({ port }) => ["127.0.0.1", "localhost"].map((name) => `${name}:${port}`));
  const known = hosts.flatMap((host) => ["--http-host", host, "--http-origin", `http://${host}`]);
  const places = ["--state-dir", join(place, "state"), "--config", settings];
  const args = [...places, "mcp", "--dir", join(place, "work"), "--http", "127.0.0.1:0", ...known];
  const serving = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  const line = await new Promise((resolve) => createInterface({ input: serving.stderr }).once("line", resolve));
  const [, url, file] = line.match(/serving at (\S+); the token is in (.*)/);
  return { url, token: readFileSync(file, "utf8"), stop: () => serving.kill() };
}

function run({ folder, more = [] }, scenario, door, place) {
  const output = join(place, "conformance");
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  door.silent.length = 0;
  const args = [join(here, folder, "dist/index.js"), "server", "--url", `http://127.0.0.1:${door.port}/mcp`, "--scenario", scenario, "-o", output, ...more];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: 60000 }, (error, stdout, stderr) => {
      const file = readdirSync(output, { recursive: true }).find((name) => name.endsWith("checks.json"));
      const checks = file ? JSON.parse(readFileSync(join(output, file), "utf8")) : [];
      const failed = checks.filter((check) => ["FAILURE", "WARNING"].includes(check.status));
      const why = [...failed.map((one) => `${one.id}: ${one.errorMessage}`), ...door.silent, ...(checks.length ? [] : [`no result: ${stderr || stdout || error}`])];
      const succeeded = checks.filter((check) => check.status === "SUCCESS").length;
      const ids = [...new Set(failed.map((one) => one.id))].sort();
      resolve({ fails: door.silent.length || !checks.length ? ["no real answer", ...ids] : ids, why: why.join("; "), succeeded });
    });
  });
}

// Runs one version of the suite against a server of its own; gives how many scenarios came out otherwise than expected.
async function check(suite) {
  const place = join(state, suite.version);
  const doors = [await open(), await open(read("fixtures.json"))];
  const server = await serve(doors, place);
  doors.forEach((door) => door.lead(server));

  let surprises = 0;
  const counts = { passes: 0, renamed: 0, hollow: 0, fails: 0 };
  for (const [scenario, expected] of Object.entries(read(`conformance/${suite.version}.json`)).filter(([name]) => !only || name === only)) {
    const renamed = expected === "passes with fixtures" || expected.fixtures === true;
    const { fails, why, succeeded } = await run(suite, scenario, doors[renamed ? 1 : 0], place);
    const wanted = (expected.fails ?? []).toSorted();
    if (process.env.UPDATE) {
      console.log(JSON.stringify({ version: suite.version, scenario, expected, fails, succeeded, why }));
    } else if (JSON.stringify(fails) !== JSON.stringify(wanted)) {
      surprises += 1;
      console.log(`conformance ${suite.version}: ${scenario} ${fails.length ? `fails: ${why}` : "passes, and is expected not to"}`);
    } else {
      counts[expected.hollow ? "hollow" : wanted.length ? "fails" : renamed ? "renamed" : "passes"] += 1;
    }
  }
  console.log(
    `conformance suite ${suite.version}: ${counts.passes + counts.renamed} scenarios pass (${counts.renamed} of them with the fixture's name on our tool), ` +
      `${counts.hollow} pass and show nothing, ${counts.fails} do not apply or fail in part (conformance/${suite.version}.json says why)`,
  );
  server.stop();
  doors.forEach((door) => door.close());
  return surprises;
}

// At the same time: most of the time goes into starting the suite, once for each scenario.
const surprises = await Promise.all(versions.map(check));
process.exit(surprises.some((count) => count > 0) ? 1 : 0);
