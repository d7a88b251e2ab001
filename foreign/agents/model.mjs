// A model that plays a script, on loopback: Anthropic Messages, OpenAI Responses and Chat Completions, Gemini.
//
// 1. `read` turns a request of any of the four into one form: system text, tools, and the calls with their results.
// 2. The script says what comes next: as many of its turns are over as the request has results. A request that is asked
//    again, or one on the side (a title, a summary), therefore disturbs nothing.
// 3. `write` gives the turn the form of the protocol, as a stream of events or as one document.
//
// A turn is `{ tool, arguments }` or `{ say }`. `tool` is a regular expression for the whole name, after the prefix that
// a client puts before the tools of a server. In the arguments, `{ "found": "shell_([a-z0-9]+)" }` stands for what the
// expression finds in the results so far, the last one first. A turn with `until` comes again until its result matches.
// Only tools of the server are called, unless the turn says `own: true`: then it is one of the client's own.
//
// `requests` are the bodies as they came with what was read in them, `calls` those that were made, with their arguments.
//
// The endpoint is also the proxy that the clients are told to use. It connects nobody: what they try to reach is written
// down in `reached`, and refused.

import http from "node:http";

export async function serve() {
  const model = { requests: [], reached: new Set() };
  const server = http.createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (piece) => (body += piece));
    request.on("end", () => answer(model, request, response, body));
  });
  server.on("connect", (request, socket) => {
    model.reached.add(request.url);
    socket.on("error", () => {});
    socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  model.url = `http://127.0.0.1:${server.address().port}`;
  model.play = (script) => Object.assign(model, { script, requests: [], problems: [], calls: [] });
  model.play([]);
  model.close = () => {
    server.close();
    server.closeAllConnections();
  };
  return model;
}

function answer(model, request, response, text) {
  const { pathname, hostname } = new URL(request.url, model.url);
  if (hostname !== "127.0.0.1") {
    model.reached.add(request.url);
    return json(response, 403, { error: { message: "nothing outside can be reached" } });
  }
  const protocol = protocols.find((one) => one.path.test(pathname));
  if (!protocol || request.method !== "POST") {
    const other = others.find(([path]) => path.test(pathname));
    return json(response, other ? 200 : 404, other ? other[1] : { error: { message: `${pathname} is not served` } });
  }
  const body = JSON.parse(text);
  const seen = protocol.read(body);
  model.requests.push({ protocol: protocol.name, path: pathname, body, seen });
  const turn = seen.tools.length ? next(model, seen) : { say: "An answer on the side." };
  const stream = body.stream || pathname.endsWith(":streamGenerateContent");
  if (!stream) {
    return json(response, 200, protocol.whole(turn, body));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  protocol.stream(turn, (data, event) => response.write(`${event ? `event: ${event}\n` : ""}data: ${data}\n\n`), body);
  response.end();
}

function json(response, status, value) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
}

const others = [
  [/count_tokens$|:countTokens$/, { input_tokens: 100, totalTokens: 100 }],
  [/\/models$/, { data: [], models: [], object: "list" }],
];

// How often a turn with `until` comes at most.
const OFTEN = 200;

// Which turn of the script gave each of the results; one more than the last is the turn whose time has come.
export function places(script, results) {
  let [turn, tries] = [0, 0];
  return results.map(({ text }) => {
    const here = turn;
    const again = script[turn]?.until && !new RegExp(script[turn].until).test(text) && (tries += 1) < OFTEN;
    [turn, tries] = again ? [turn, tries] : [turn + 1, 0];
    return { turn: here, last: !again };
  });
}

function place(script, results) {
  const before = places(script, results).at(-1);
  return before ? before.turn + (before.last ? 1 : 0) : 0;
}

// The turn whose time has come.
function next(model, seen) {
  const turn = model.script[place(model.script, seen.results)];
  if (!turn || "say" in turn) {
    return turn ?? { say: "Done." };
  }
  const wanted = new RegExp(`^(?:mcp_+)?(?:chiton_+)?(?:${turn.tool})$`);
  const tool = seen.tools.find((one) => one.ours !== Boolean(turn.own) && wanted.test(one.name));
  if (!tool) {
    model.problems.push(`no tool is called ${turn.tool}; there are: ${seen.tools.map((one) => one.name).join(", ")}`);
    return { say: "There is no such tool." };
  }
  const texts = seen.results.map((one) => one.text).reverse();
  const put = (value) => {
    if (typeof value?.found === "string") {
      const match = texts.map((text) => new RegExp(value.found).exec(text)).find(Boolean);
      if (!match) {
        model.problems.push(`${value.found} is not in what the model saw`);
      }
      const found = match ? (match[1] ?? match[0]) : "not found";
      return value.number ? Number(found) : found;
    }
    return value;
  };
  const args = Object.fromEntries(Object.entries(turn.arguments).map(([name, value]) => [name, put(value)]));
  model.calls[seen.results.length] = { ...turn, tool: tool.name, arguments: args };
  return { tool, arguments: args, id: `call_${seen.results.length + 1}` };
}

const ours = (name) => /chiton/.test(name);
const flat = (content) =>
  typeof content === "string" ? content
    : Array.isArray(content) ? content.map((one) => one.text ?? `[${one.type ?? "part"}: ${JSON.stringify(one)}]`).join("\n--- next block ---\n")
      : JSON.stringify(content ?? "");
const tool = (name, description, schema) => ({ name, description: description ?? "", schema, ours: ours(name) });

const anthropic = {
  name: "anthropic",
  path: /\/v1\/messages$/,
  read(body) {
    const blocks = body.messages.flatMap((message) => (Array.isArray(message.content) ? message.content.map((one) => ({ role: message.role, ...one })) : [{ role: message.role, type: "text", text: message.content }]));
    return {
      system: [flat(body.system ?? ""), ...body.messages.filter((one) => one.role === "system").map((one) => flat(one.content))].join("\n"),
      said: blocks.filter((one) => one.type === "text" && one.role !== "system").map((one) => one.text),
      tools: (body.tools ?? []).map((one) => ({ ...tool(one.name, one.description, one.input_schema), deferred: Boolean(one.defer_loading) })),
      results: blocks.filter((one) => one.type === "tool_result").map((one) => ({ text: flat(one.content), error: Boolean(one.is_error) })),
    };
  },
  block: (turn) => ("say" in turn ? { type: "text", text: turn.say } : { type: "tool_use", id: `toolu_${turn.id}`, name: turn.tool.name, input: turn.arguments }),
  message: (turn, body) => ({
    id: "msg_1", type: "message", role: "assistant", model: body.model, stop_sequence: null,
    stop_reason: "say" in turn ? "end_turn" : "tool_use", usage: { input_tokens: 10, output_tokens: 10 },
  }),
  whole(turn, body) {
    return { ...this.message(turn, body), content: [this.block(turn)] };
  },
  stream(turn, send, body) {
    const event = (type, more) => send(JSON.stringify({ type, ...more }), type);
    const block = this.block(turn);
    const message = this.message(turn, body);
    event("message_start", { message: { ...message, content: [], stop_reason: null } });
    event("content_block_start", { index: 0, content_block: block.type === "text" ? { type: "text", text: "" } : { ...block, input: {} } });
    event("content_block_delta", {
      index: 0,
      delta: block.type === "text" ? { type: "text_delta", text: block.text } : { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
    });
    event("content_block_stop", { index: 0 });
    event("message_delta", { delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage: { output_tokens: 10 } });
    event("message_stop", {});
  },
};

const responses = {
  name: "responses",
  path: /\/responses$/,
  read(body) {
    const input = typeof body.input === "string" ? [] : body.input;
    const text = (one) => flat(one.content ?? "");
    return {
      system: [body.instructions ?? "", ...input.filter((one) => one.role === "developer" || one.role === "system").map(text)].join("\n"),
      said: input.filter((one) => one.role === "user").map(text),
      tools: (body.tools ?? []).flatMap((one) =>
        one.type === "namespace"
          ? one.tools.map((inner) => ({ ...tool(inner.name, inner.description, inner.parameters), namespace: one.name, about: one.description, ours: ours(one.name) }))
          : [{ ...tool(one.name ?? one.type, one.description, one.parameters), kind: one.type }]),
      results: input.filter((one) => /_call_output$|^tool_search_output$/.test(one.type)).map((one) => ({ text: flat(one.output ?? one.tools) })),
    };
  },
  item(turn) {
    if ("say" in turn) {
      return { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text: turn.say, annotations: [] }] };
    }
    const { name, namespace, kind } = turn.tool;
    if (kind === "tool_search") {
      return { type: "tool_search_call", id: `ts_${turn.id}`, call_id: turn.id, execution: "client", status: "completed", arguments: turn.arguments };
    }
    return { type: "function_call", id: `fc_${turn.id}`, call_id: turn.id, name, ...(namespace && { namespace }), arguments: JSON.stringify(turn.arguments), status: "completed" };
  },
  whole(turn, body) {
    const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, output_tokens: 10, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 20 };
    return { id: "resp_1", object: "response", created_at: 0, status: "completed", model: body.model, output: [this.item(turn)], usage };
  },
  stream(turn, send, body) {
    const event = (type, more) => send(JSON.stringify({ type, ...more }), type);
    const done = this.whole(turn, body);
    event("response.created", { response: { ...done, status: "in_progress", output: [], usage: null } });
    event("response.output_item.added", { output_index: 0, item: { ...done.output[0], status: "in_progress" } });
    event("response.output_item.done", { output_index: 0, item: done.output[0] });
    event("response.completed", { response: done });
  },
};

const chat = {
  name: "chat",
  path: /\/chat\/completions$/,
  read(body) {
    const by = (...roles) => body.messages.filter((one) => roles.includes(one.role)).map((one) => flat(one.content));
    return {
      system: by("system", "developer").join("\n"),
      said: by("user"),
      tools: (body.tools ?? []).map((one) => tool(one.function.name, one.function.description, one.function.parameters)),
      results: by("tool").map((text) => ({ text })),
    };
  },
  message: (turn) =>
    "say" in turn
      ? { role: "assistant", content: turn.say }
      : { role: "assistant", content: null, tool_calls: [{ index: 0, id: turn.id, type: "function", function: { name: turn.tool.name, arguments: JSON.stringify(turn.arguments) } }] },
  whole(turn, body) {
    const finish_reason = "say" in turn ? "stop" : "tool_calls";
    return {
      id: "chat_1", object: "chat.completion", created: 0, model: body.model,
      choices: [{ index: 0, message: this.message(turn), finish_reason }], usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
    };
  },
  stream(turn, send, body) {
    const { choices: [{ message, finish_reason }], usage, ...head } = this.whole(turn, body);
    const piece = (delta, finish) => send(JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] }));
    piece(message, null);
    piece({}, finish_reason);
    send(JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [], usage }));
    send("[DONE]");
  },
};

const gemini = {
  name: "gemini",
  path: /:(generateContent|streamGenerateContent)$/,
  read(body) {
    const parts = body.contents.flatMap((one) => one.parts.map((part) => ({ role: one.role, ...part })));
    return {
      system: flat(body.systemInstruction?.parts ?? ""),
      said: parts.filter((one) => one.role === "user" && one.text).map((one) => one.text),
      tools: (body.tools ?? []).flatMap((one) => one.functionDeclarations ?? []).map((one) => tool(one.name, one.description, one.parametersJsonSchema ?? one.parameters)),
      results: parts.filter((one) => one.functionResponse).map((one) => ({ text: response(one.functionResponse.response) })),
    };
  },
  whole(turn) {
    const part = "say" in turn ? { text: turn.say } : { functionCall: { id: turn.id, name: turn.tool.name, args: turn.arguments } };
    return {
      candidates: [{ index: 0, finishReason: "STOP", content: { role: "model", parts: [part] } }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
    };
  },
  stream(turn, send) {
    send(JSON.stringify(this.whole(turn)));
  },
};

const response = (value) => (typeof value?.output === "string" && Object.keys(value).length === 1 ? value.output : JSON.stringify(value, null, 1));

const protocols = [anthropic, responses, chat, gemini];
