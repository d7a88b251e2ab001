// A session by the TypeScript SDK: start, background, output, kill. Over stdio and HTTP.
//
//     node client.mjs PROGRAM STATE_DIRECTORY

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [program, state] = process.argv.slice(2);

async function session(transport, what) {
  const client = new Client({ name: "foreign", version: "1" });
  await client.connect(transport);
  const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
  const text = (result) => result.content[0].text;
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["Bash", "BashOutput", "BashInput", "KillShell", "ListShells"]);
  let result = await call("Bash", { command: "cd /usr; export COLOUR=green; echo hello" });
  assert.ok(text(result).includes("hello"));
  result = await call("Bash", { command: "echo $PWD $COLOUR; exit 3" });
  assert.ok(text(result).includes("/usr green"));
  assert.equal(result.structuredContent.exit_code, 3);
  result = await call("Bash", { command: "echo ready; exec sleep 600", run_in_background: true });
  const task = result.structuredContent.bash_id;
  result = await call("BashOutput", { bash_id: task, wait_for: "ready", wait: 10000 });
  assert.ok(text(result).includes("ready"));
  result = await call("KillShell", { bash_id: task });
  assert.ok(text(result).includes("terminated"));
  result = await call("BashOutput", { bash_id: task });
  assert.equal(result.structuredContent.status, "killed");
  result = await call("Bash", {});
  assert.ok(result.isError && text(result).includes("command"));
  const told = [];
  await call("Bash", { command: "echo one; sleep 0.3; echo two" }, { onprogress: (sign) => told.push(sign.message) });
  assert.ok(told.join("").includes("one\n"));
  const resource = await client.readResource({ uri: `chiton://runs/${task}/output` });
  assert.equal(resource.contents[0].text, "ready\n");
  await client.close();
  console.log(`typescript sdk, ${what}: ok`);
}

await session(new StdioClientTransport({ command: program, args: ["--state-dir", state, "mcp"] }), "stdio");

const serving = spawn(program, ["--state-dir", state, "mcp", "--http", "127.0.0.1:0"], {
  stdio: ["ignore", "ignore", "pipe"],
});
try {
  const line = await new Promise((resolve) => createInterface({ input: serving.stderr }).once("line", resolve));
  const [, url, file] = line.match(/serving at (\S+); the token is in (.*)/);
  const requestInit = { headers: { Authorization: `Bearer ${readFileSync(file, "utf8")}` } };
  await session(new StreamableHTTPClientTransport(new URL(url), { requestInit }), "HTTP");
} finally {
  serving.kill();
}
