// The official conformance suite against the server.
//
//     node conformance.mjs PROGRAM STATE_DIRECTORY
//
// The suite knows no token, so a door in front puts it in; it changes nothing else. A scenario that fails without
// being expected to, or passes although it is, ends this with an error.

import { execFile, spawn } from "node:child_process";
import { readFileSync, readdirSync, rmSync } from "node:fs";
import http from "node:http";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const [program, state] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const expected = JSON.parse(readFileSync(join(here, "conformance.json"), "utf8"));
const suite = join(here, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

const door = http.createServer();
await new Promise((resolve) => door.listen(0, "127.0.0.1", resolve));
const { port } = door.address();
const hosts = ["127.0.0.1", "localhost"].flatMap((host) => ["--http-host", `${host}:${port}`]);
const serving = spawn(program, ["--state-dir", state, "mcp", "--http", "127.0.0.1:0", ...hosts,
  "--http-origin", `http://127.0.0.1:${port}`, "--http-origin", `http://localhost:${port}`], {
  stdio: ["ignore", "ignore", "pipe"],
});
const line = await new Promise((resolve) => createInterface({ input: serving.stderr }).once("line", resolve));
const [, url, file] = line.match(/serving at (\S+); the token is in (.*)/);
const token = readFileSync(file, "utf8");

door.on("request", (request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const { hostname, port } = new URL(url);
  const on = http.request({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  on.on("error", () => response.destroy());
  response.on("close", () => on.destroy());
  request.pipe(on);
});

const output = join(state, "conformance");
const run = (scenario) =>
  new Promise((resolve) => {
    const args = [suite, "server", "--url", `http://127.0.0.1:${port}/mcp`, "--scenario", scenario, "-o", output];
    execFile(process.execPath, args, { timeout: 60000 }, () => {
      const folder = readdirSync(output).find((name) => name.includes(scenario));
      const checks = folder ? JSON.parse(readFileSync(join(output, folder, "checks.json"), "utf8")) : [];
      const failed = checks.filter((check) => check.status === "FAILURE");
      rmSync(output, { recursive: true, force: true });
      resolve({ scenario, passed: checks.length > 0 && failed.length === 0, why: failed.map((one) => one.errorMessage).join("; ") });
    });
  });

let surprises = 0;
const counts = { passed: 0, expected: 0 };
for (const [scenario, reason] of Object.entries(expected)) {
  const { passed, why } = await run(scenario);
  if (passed === (reason === "passes")) {
    counts[passed ? "passed" : "expected"] += 1;
  } else {
    surprises += 1;
    console.log(`conformance: ${scenario} ${passed ? "passes, and is expected not to" : `fails: ${why}`}`);
  }
}
serving.kill();
door.close();
door.closeAllConnections();
console.log(`conformance suite: ${counts.passed} scenarios pass, ${counts.expected} do not apply (conformance.json says why)`);
process.exit(surprises ? 1 : 0);
