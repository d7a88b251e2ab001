// What stands between the conformance suite and the server.
//
// The suite does not know about tokens: a door puts it in, and changes nothing else.
//
// Many scenarios call a tool that the suite's own example server has. A door with fixtures gives such a call the name and
// the arguments of one of our tools (fixtures.json), and lists the fixtures beside our tools; the server does the rest.
// Where a fixture has `says`, that must be in what the server answers, otherwise the scenario fails: an error about an
// unknown tool is text as well.

import http from "node:http";

export async function open(fixtures) {
  const door = http.createServer();
  await new Promise((resolve) => door.listen(0, "127.0.0.1", resolve));
  const { port } = door.address();
  const state = { port, silent: [] };
  state.lead = ({ url, token }) => {
    const translation = fixtures && new Translation(fixtures, url, state);
    door.on("request", (request, response) => pass(request, response, { url, token, translation }));
  };
  state.close = () => {
    door.close();
    door.closeAllConnections();
  };
  return state;
}

function pass(request, response, { url, token, translation }) {
  const { hostname, port } = new URL(url);
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", async () => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    const asked = Buffer.concat(pieces).toString();
    const fixture = translation?.fixture(asked);
    const body = translation ? await translation.there(asked, headers) : asked;
    if (request.headers["content-length"]) {
      headers["content-length"] = Buffer.byteLength(body);
    }
    const on = http.request({ hostname, port, path: request.url, method: request.method, headers }, (answer) => {
      if (!translation) {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
        return;
      }
      const { "content-length": length, ...rest } = answer.headers;
      response.writeHead(answer.statusCode, rest);
      answer.setEncoding("utf8");
      let [waiting, all] = ["", ""];
      answer.on("data", (piece) => {
        waiting += piece;
        all += piece;
        const whole = waiting.lastIndexOf("\n") + 1;
        response.write(translation.back(waiting.slice(0, whole)));
        waiting = waiting.slice(whole);
      });
      answer.on("end", () => {
        if (answer.statusCode === 200) {
          translation.check(fixture, all);
        }
        response.end(translation.back(waiting));
      });
    });
    on.on("error", () => response.destroy());
    response.on("close", () => on.destroy());
    on.end(body);
  });
}

class Translation {
  constructor({ tools, resources }, url, state) {
    Object.assign(this, { tools, resources, url, state });
  }

  fixture(text) {
    const message = parsed(text);
    return message?.method === "tools/call" ? this.tools[message.params?.name] : undefined;
  }

  async there(text, headers) {
    const message = parsed(text);
    const fixture = this.fixture(text);
    if (fixture) {
      const given = message.params.arguments ?? {};
      message.params = { ...message.params, name: fixture.tool, arguments: filled(fixture.arguments, given) };
      if (headers["mcp-name"]) {
        headers["mcp-name"] = fixture.tool;
      }
      return JSON.stringify(message);
    }
    if (this.resources.includes(message?.params?.uri)) {
      this.uri = message.params.uri;
      this.resource = await this.run(message, headers);
      message.params.uri = this.resource;
      if (headers["mcp-name"]) {
        headers["mcp-name"] = this.resource;
      }
      return JSON.stringify(message);
    }
    return text;
  }

  // A command of the same client, so that there is a resource which it may see.
  async run({ params }, headers) {
    const { "content-length": length, connection, host, ...rest } = headers;
    const more = headers["mcp-method"] ? { "mcp-method": "tools/call", "mcp-name": "Bash" } : {};
    const call = { name: "Bash", arguments: { command: "echo watched", run_in_background: true }, _meta: params._meta };
    const body = JSON.stringify({ jsonrpc: "2.0", id: "a command to watch", method: "tools/call", params: call });
    const answer = await fetch(this.url, { method: "POST", headers: { ...rest, ...more }, body });
    const text = await answer.text();
    return `chiton://runs/${/shell_[0-9a-z]+/.exec(text)?.[0]}/output`;
  }

  // A list of tools gets the fixtures, a resource its name in the suite.
  back(text) {
    const lines = text.split("\n").map((line) => {
      const [, start, rest] = /^(data: )?(.*)$/.exec(line);
      const message = parsed(rest);
      const list = message?.result?.tools;
      if (!list) {
        return line;
      }
      const named = Object.entries(this.tools).map(([name, { tool }]) => ({ ...list.find((one) => one.name === tool), name }));
      message.result.tools = [...list, ...named];
      return `${start ?? ""}${JSON.stringify(message)}`;
    });
    return this.uri ? lines.join("\n").replaceAll(this.resource, this.uri) : lines.join("\n");
  }

  check(fixture, answer) {
    const silent = fixture?.says && !answer.includes(fixture.says) && !/"resultType":"(?:task|input_required)"/.test(answer);
    if (silent) {
      this.state.silent.push(`the answer does not say "${fixture.says}"`);
    }
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// `{name}` in a text stands for that argument, quoted for the shell.
function filled(wanted, given) {
  const quoted = (name) => `'${String(given[name] ?? "").replaceAll("'", "'\\''")}'`;
  const fill = (value) => (typeof value === "string" ? value.replace(/\{([a-z_]+)\}/g, (all, name) => quoted(name)) : value);
  return Object.fromEntries(Object.entries(wanted).map(([name, value]) => [name, fill(value)]));
}
