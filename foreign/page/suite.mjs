// The page in a real browser: `node suite.mjs PROGRAM CHROMIUM [WORD…]`. With words, only the cases that have one of them.

import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { browse, Place, until } from "./place.mjs";

const [program, executable, ...wanted] = process.argv.slice(2);
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await browse(executable);
const cases = [];

/** A case has a place, a page that is open, and what went wrong in the browser meanwhile. */
function test(name, options, run) {
  cases.push({ name, options, run });
}

// A harmless command that the guard refuses.
const REFUSED = "[guard]\nrule = [{decision = 'deny', program = ['touch'], any_argument = ['canary*'], reason = 'Canaries sing.', match = ['touch canary']}]\n";

async function open(place, options) {
  if (options.settings) await place.settle(options.settings);
  const served = await place.serve(...(options.control === false ? [] : ["--control"]), "--port", "0");
  const context = await browser.newContext({ viewport: options.viewport ?? { width: 1280, height: 800 }, colorScheme: options.colours ?? "light" });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(served.link);
  await page.waitForSelector(".connection.live", { state: "attached" });
  return { ...served, context, page, complaints };
}

const row = (page, id) => page.locator(`#row-${id}`);
const choose = async (page, id) => {
  await row(page, id).click();
  await page.waitForURL(`**/#/runs/${id}`);
};
const ended = (page, id) => page.waitForSelector(`#row-${id}:not(.running):not(.waiting)`);

test("the link opens the page once and leaves no key behind", {}, async ({ place, page, context, link, origin }) => {
  assert.equal(page.url(), `${origin}/`);
  const [cookie] = await context.cookies();
  assert.equal(cookie.httpOnly && cookie.sameSite, "Strict");
  assert.equal(await page.evaluate(() => document.cookie), "");
  assert.equal(await page.title(), "Chiton");
  assert.match(await page.locator("#list").getAttribute("data-empty"), /Nothing has run yet/u);
  const stranger = await browser.newContext();
  const other = await stranger.newPage();
  for (const [address, status] of [[link, 403], [`${origin}/?key=${"0".repeat(64)}`, 403], [`${origin}/`, 401], [`${origin}/api/hello`, 401], [`${origin}/assets/app.js`, 401]]) {
    assert.equal((await other.goto(address)).status(), status, address);
  }
  assert.equal((await other.goto(await place.chiton("ui"))).status(), 200, "another link leads to the same page");
  await stranger.close();
});

test("what a run prints appears as it is printed, with its colours and its end", {}, async ({ place, page }) => {
  await place.write("go.sh", String.raw`printf '\033[1;31mred\033[0m and plain\n'; until [ -e go ]; do sleep 0.05; done; echo second; echo oops >&2; exit 3`);
  const id = await place.start("bash go.sh");
  await page.waitForSelector(`#row-${id}.running`);
  await choose(page, id);
  const red = page.locator(".line .a-f1");
  await red.waitFor();
  assert.equal(await red.textContent(), "red");
  assert.equal(await page.locator(".line", { hasText: "second" }).count(), 0);
  await place.write("go", "");
  await page.locator(".line", { hasText: "second" }).waitFor();
  await page.locator(".line.error", { hasText: "oops" }).waitFor();
  await page.locator(".state.badly", { hasText: "exit 3" }).waitFor();
});

test("the next error is found by its key", {}, async ({ place, page }) => {
  await place.write("many.sh", "seq 1 300; echo 'error: first'; seq 1 300; echo 'fatal: second'; seq 1 300");
  await place.chiton("run", "bash many.sh");
  await page.locator(".row", { hasText: "bash many.sh" }).click();
  await page.locator(".line", { hasText: "fatal: second" }).waitFor();
  for (const expected of ["error: first", "fatal: second", "error: first"]) {
    await page.keyboard.press("e");
    assert.equal(await page.locator(".line.here").textContent(), expected);
    await until("it is in sight", () => page.locator(".line.here").evaluate((line) => {
      const [at, box] = [line.getBoundingClientRect(), line.closest(".scroll").getBoundingClientRect()];
      return at.top >= box.top && at.bottom <= box.bottom;
    }));
  }
});

test("of a long output the end is shown, and more on demand", {}, async ({ place, page }) => {
  await place.write("long.sh", "seq 1 200000");
  await place.chiton("run", "bash long.sh");
  await page.locator(".row", { hasText: "bash long.sh" }).click();
  await page.locator(".line", { hasText: /^200000$/u }).waitFor();
  await page.locator("button", { hasText: "before this: show more" }).click();
  const first = await until("earlier lines", async () => {
    const number = Number(await page.locator(".line").first().textContent());
    return number < 185_000 && number;
  });
  const lines = await page.locator(".lines").evaluate((lines) => [...lines.querySelectorAll(".line:not(.remark)")].map((line) => Number(line.textContent)));
  const gaps = lines.filter((line, place) => place > 0 && line !== lines[place - 1] + 1);
  assert.deepEqual(gaps, [], `nothing is missing from ${first} on`);
  assert.equal(lines.at(-1), 200_000);
});

test("a terminal is shown and takes typing", {}, async ({ place, page }) => {
  const id = await place.start("read -rp 'Your name? ' name; echo \"Hello, $name.\"; read -rsn1 key; printf 'key %q' \"$key\"", "--pty");
  await page.waitForSelector(`#row-${id}.waiting`);
  assert.match(await row(page, id).locator(".meta").textContent(), /Your name\?/u);
  await choose(page, id);
  const text = () => page.locator(".xterm-rows").textContent();
  await until("the prompt", async () => (await text()).includes("Your name?"));
  await page.keyboard.press("i");
  await page.waitForSelector(".terminal.taken");
  await until("the prompt, in a window of this size", async () => (await text()).includes("Your name?"));
  await page.keyboard.type("Grüße");
  await page.keyboard.press("Enter");
  await until("the answer", async () => (await text()).includes("Hello, Grüße."));
  await page.keyboard.press("Shift+Escape");
  await until("the keyboard is free again", () => page.evaluate(() => document.activeElement.closest(".xterm") === null));
  await page.locator(".xterm-screen").click();
  // Every key is meant for the terminal, also those that mean something to the page.
  await page.keyboard.press("Escape");
  await ended(page, id);
  assert.equal(page.url().endsWith(id), true);
  assert.match(await place.chiton("logs", "--plain", id), /key \$'\\E'/u);
  assert.match(await place.chiton("audit"), new RegExp(`${id} attached`, "u"));
});

test("text reaches the input of a run, and the guard has its say", { settings: REFUSED }, async ({ place, page }) => {
  const id = await place.start("read -r line; echo \"got $line\"; bash", "--open-stdin");
  await page.waitForSelector(`#row-${id}`);
  await choose(page, id);
  await page.getByLabel("Text for its input").fill("a line");
  await page.keyboard.press("Enter");
  await page.locator(".line", { hasText: "got a line" }).waitFor();
  await page.getByLabel("Text for its input").fill("touch canary.sent");
  await page.keyboard.press("Enter");
  await page.locator(".notice.badly", { hasText: "Canaries sing." }).waitFor();
  await page.getByRole("button", { name: "End input" }).click();
  await ended(page, id);
  assert.equal(await place.has("canary.sent"), false);
  return { expected: [/409/u] };
});

test("a run is stopped after a question", {}, async ({ place, page }) => {
  const id = await place.start("sleep 8642 & sleep 8643");
  await page.waitForSelector(`#row-${id}.running`);
  await choose(page, id);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.match(await place.chiton("ps"), new RegExp(id, "u"));
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Stop it" }).click();
  await page.locator(".state.badly", { hasText: "stopped" }).waitFor();
  assert.doesNotMatch(await place.chiton("ps"), new RegExp(id, "u"));
  assert.match(await place.chiton("audit"), new RegExp(`${id} kill`, "u"));
});

test("a page without control shows everything and changes nothing", { control: false }, async ({ place, page, origin }) => {
  const id = await place.start("sleep 8644");
  await page.waitForSelector(`#row-${id}.running`);
  await choose(page, id);
  assert.equal(await page.locator("#mode").textContent(), "read-only");
  assert.equal(await page.getByRole("button", { name: "Stop", exact: true }).isVisible(), false);
  const status = await page.evaluate(async (path) => {
    const { token } = await (await fetch("/api/hello")).json();
    const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json", "x-chiton-token": token }, body: "{}" });
    return answer.status;
  }, `${origin}/api/runs/${id}/kill`);
  assert.equal(status, 403);
  assert.match(await place.chiton("ps"), new RegExp(id, "u"));
  // The browser says in its console that it was refused.
  return { expected: [/403/u] };
});

test("another page of this machine gets nothing and changes nothing", {}, async ({ place, page, context, origin }) => {
  const id = await place.start("sleep 8645");
  await page.waitForSelector(`#row-${id}.running`);
  const server = createServer((request, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html><title>other</title>"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const other = await context.newPage();
    await other.goto(`http://127.0.0.1:${server.address().port}/`);
    const tried = await other.evaluate(async ({ origin, id }) => {
      const attempt = (path, options) => fetch(origin + path, { credentials: "include", ...options }).then((answer) => answer.text(), () => "refused");
      const frame = document.createElement("iframe");
      frame.src = `${origin}/`;
      document.body.append(frame);
      await new Promise((resolve) => frame.addEventListener("load", resolve));
      let framed = "refused";
      try {
        framed = frame.contentDocument?.body?.textContent ? "shown" : "refused";
      } catch {
        // It is of another origin, so the browser has put its own page there.
      }
      const script = await new Promise((resolve) => {
        const element = document.createElement("script");
        element.src = `${origin}/api/hello`;
        element.onload = () => resolve("loaded");
        element.onerror = () => resolve("refused");
        document.body.append(element);
      });
      return {
        read: await attempt("/api/hello"),
        readBlindly: await attempt("/api/events", { mode: "no-cors" }),
        kill: await attempt(`/api/runs/${id}/kill`, { method: "POST", mode: "no-cors", body: "{}" }),
        killAsJson: await attempt(`/api/runs/${id}/kill`, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }),
        framed,
        script,
      };
    }, { origin, id });
    assert.equal(tried.read, "refused");
    assert.equal(tried.readBlindly.includes("shell_"), false);
    assert.equal(tried.killAsJson, "refused");
    assert.deepEqual([tried.framed, tried.script], ["refused", "refused"]);
    await other.close();
  } finally {
    server.close();
  }
  assert.match(await place.chiton("ps"), new RegExp(id, "u"), "it still runs");
});

test("hostile commands and output stay text", {}, async ({ place, page }) => {
  const markup = `<img src=x onerror="window.scripted=1"><script>window.scripted=1</script>`;
  await place.write("hostile.sh", String.raw`printf '%s\n' "$1"; printf '\033]8;;javascript:window.scripted=1\007a link\033]8;;\007\n'
printf '\033]0;a title\007\033[999999999C\033[2J after\n'; printf 'abc\u202edef\u2066\n'; printf 'x\033]52;c;aGFjaw==\007y\n'
head -c 10000000 /dev/zero | tr '\0' A; printf '\nafter the long line\n'; printf 'half \033[38;2;1'`);
  await place.chiton("run", "--description", markup, "--", `bash hostile.sh '${markup}' # \u202e${markup}`);
  const one = page.locator(".row", { hasText: "bash hostile.sh" });
  await one.waitFor();
  assert.ok((await one.locator(".command").textContent()).includes(markup), "markup in a command is shown as it is");
  assert.ok(!(await one.locator(".command").textContent()).includes("\u202e"), "what turns text around is not");
  await one.click();
  await page.locator(".line", { hasText: "after the long line" }).waitFor();
  await page.locator("button", { hasText: "before this" }).waitFor();
  await page.goto(page.url().replace(/#.*/u, "#/journal"));
  await page.locator(".journal td", { hasText: "hostile.sh" }).first().waitFor();
  await place.write("short.sh", String.raw`printf '%s\n' "$1"; printf '\033]8;;javascript:window.scripted=1\007a link\033]8;;\007\n'; printf 'abc\u202edef\n'; printf 'a\rb\n'`);
  await place.chiton("run", "--", `bash short.sh '${markup}'`);
  await page.goto(page.url().replace(/#.*/u, "#/runs"));
  await page.locator(".row", { hasText: "bash short.sh" }).click();
  await page.locator(".line", { hasText: "a link" }).waitFor();
  assert.equal(await page.locator(".line").first().textContent(), markup);
  assert.equal(await page.locator(".lines a, .lines img, .lines script").count(), 0);
  assert.equal(await page.locator(".line", { hasText: "abc" }).textContent(), "abc⟨U+202E⟩def");
  assert.equal(await page.locator(".line").last().textContent(), "b");
  const id = await place.start(String.raw`printf '\033]8;;javascript:window.scripted=1\033\\link\033]8;;\033\\ <b>bold</b>'; sleep 60`, "--pty");
  await page.waitForSelector(`#row-${id}`);
  await choose(page, id);
  await until("the terminal", async () => (await page.locator(".xterm-rows").textContent()).includes("<b>bold</b>"));
  await page.locator(".xterm-screen").click({ position: { x: 20, y: 8 } });
  assert.equal(await page.evaluate(() => window.scripted), undefined);
  assert.doesNotMatch(await page.title(), /a title/u);
});

test("a question is answered", {}, async ({ place, page }) => {
  const rule = "{decision = 'ask', program = ['touch'], any_argument = ['canary*'], reason = 'Canaries <b>sing</b>.', match = ['touch canary']}";
  // Not where commands could change it.
  const settings = await place.write("../../settings.toml", `[guard]\nrule = [${rule}]\n`);
  const ask = (name) => place.chiton("--config", settings, "call", "Bash", JSON.stringify({ command: `touch ${name}` }));
  for (const [answer, ran] of [["No", false], ["Once", true]]) {
    const name = `canary.${answer}`;
    const asked = ask(name);
    await page.locator("#approval-count", { hasText: "1" }).waitFor();
    await page.keyboard.press("2");
    const card = page.locator(".card", { hasText: name });
    await card.locator("pre", { hasText: "Canaries <b>sing</b>." }).waitFor();
    assert.equal(await place.has(name), false);
    await card.getByRole("button", { name: answer, exact: true }).click();
    await asked;
    assert.equal(await place.has(name), ran, answer);
    await card.waitFor({ state: "detached" });
  }
});

test("everything can be done with the keyboard alone", {}, async ({ place, page }) => {
  for (const word of ["one", "two", "three"]) await place.chiton("run", `echo ${word}`);
  await page.waitForSelector(".row:nth-child(3)");
  const chosen = () => page.locator('.row[aria-selected="true"] .command').textContent();
  await page.keyboard.press("j");
  assert.equal(await chosen(), "echo three");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  assert.equal(await chosen(), "echo one");
  await page.keyboard.press("k");
  assert.equal(await chosen(), "echo two");
  await page.keyboard.press("Enter");
  await page.locator(".line", { hasText: /^two$/u }).waitFor();
  await until("the output has the keyboard", () => page.evaluate(() => document.activeElement.closest(".detail-pane") !== null));
  await page.keyboard.press("Escape");
  await until("the list has it again", () => page.evaluate(() => document.activeElement.id === "list"));
  await page.keyboard.press("/");
  await page.keyboard.type("thr");
  await until("one is left", () => page.locator(".row").count().then((count) => count === 1));
  await page.keyboard.press("Escape");
  await until("all are back", () => page.locator(".row").count().then((count) => count === 3));
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.locator("dialog", { hasText: "the next run" }).waitFor();
  await page.keyboard.press("Escape");
  for (const [key, view] of [["2", "approvals"], ["3", "journal"], ["4", "charts"], ["1", "runs"]]) {
    await page.keyboard.press(key);
    await page.locator(`#view-${view}`).waitFor({ state: "visible" });
  }
  const before = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.keyboard.press("t");
  await page.keyboard.press("t");
  assert.notEqual(await page.evaluate(() => document.documentElement.dataset.theme), before);
  // Every control can be reached by the tab key, and shows that it was.
  const reached = new Set();
  for (let step = 0; step < 25; step += 1) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent));
  }
  for (const id of ["filter", "list", "theme", "help"]) assert.ok(reached.has(id), `${id} is reached: ${[...reached]}`);
});

for (const colours of ["light", "dark"]) {
  test(`axe finds nothing (${colours})`, { colours }, async ({ place, page, origin }) => {
    const asks = await place.start("read -rp 'Go on? ' x", "--pty");
    await place.chiton("run", "printf '\\033[31mred\\033[32mgreen\\033[33myellow\\033[34mblue\\033[35mpink\\033[36mcyan\\033[90mgrey\\n'; echo error: x; exit 3");
    await place.chiton("run", "printf '\\033[41mred\\033[42mgreen\\033[43myellow\\033[44mblue\\033[45mpink\\033[46mcyan\\033[100mgrey\\033[47mwhite\\n'");
    await page.waitForSelector(`#row-${asks}.waiting`);
    const check = async (where) => {
      // Not by the page: it lets nobody add a script.
      const session = await page.context().newCDPSession(page);
      await session.send("Runtime.evaluate", { expression: axe });
      const result = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      const found = result.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.failureSummary}`).join(" | ")}`);
      assert.deepEqual(found, [], where);
    };
    await check("the list");
    await choose(page, asks);
    await page.waitForSelector(".xterm-rows");
    await check("a terminal");
    for (const words of ["41mred", "31mred"]) {
      await page.locator(".row", { hasText: words }).click();
      await page.locator(".line", { hasText: "red" }).waitFor();
      await check("a run");
    }
    for (const view of ["approvals", "journal", "charts"]) {
      await page.goto(`${origin}/#/${view}`);
      await page.locator(`#view-${view}`).waitFor({ state: "visible" });
      if (view === "journal") await page.waitForSelector(".journal tbody tr");
      if (view === "charts") await page.waitForSelector(".drawing");
      await check(view);
    }
    await page.keyboard.press("?");
    await check("the keys");
    await page.keyboard.press("Escape");
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${origin}/#/runs`);
    await check("a phone");
  });
}

test("nothing is wider than a phone", { viewport: { width: 390, height: 844 } }, async ({ place, page, origin }) => {
  const id = await place.start(`echo ${"wide ".repeat(60)}; sleep 60`, "--description", "a description that is rather long for a phone");
  await page.waitForSelector(`#row-${id}`);
  await choose(page, id);
  await page.locator(".line", { hasText: "wide" }).waitFor();
  for (const view of [`runs/${id}`, "runs", "approvals", "journal", "charts"]) {
    await page.goto(`${origin}/#/${view}`);
    await page.waitForTimeout(100);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, view);
  }
});

test("a run that is not there is named as such", {}, async ({ page, origin }) => {
  await page.goto(`${origin}/#/runs/shell_00000000`);
  await page.locator(".hint", { hasText: "not found" }).waitFor();
  return { expected: [/404/u] };
});

test("an open page goes on after a restart", {}, async ({ place, page, origin, end }) => {
  await end();
  await page.locator(".connection.reconnecting").waitFor();
  const again = await place.serve("--control");
  assert.equal(again.origin, origin, "the port stays");
  await page.locator(".connection.live").waitFor();
  const id = await place.start("sleep 8646");
  await page.waitForSelector(`#row-${id}.running`);
  await choose(page, id);
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Stop it" }).click();
  await page.locator(".state.badly").waitFor();
  return { expected: [/ERR_CONNECTION|Failed to load|ERR_INCOMPLETE|ERR_EMPTY/u] };
});

test("a thousand runs and a flood leave the page quick and small", {}, async ({ place, page, pid }) => {
  const model = await place.chiton("run", "--background", "echo done");
  await place.chiton("wait", model);
  const runs = join(place.state, "runs");
  const request = await readFile(join(runs, model, "request.json"), "utf8");
  for (let number = 0; number < 1000; number += 1) {
    const id = `shell_${(0xa0000000 + number).toString(16)}`;
    await cp(join(runs, model), join(runs, id), { recursive: true });
    await writeFile(join(runs, id, "request.json"), request.replaceAll(model, id).replace("echo done", `echo number ${number}`));
  }
  await until("all are listed", async () => (await page.locator(".chip .number").first().textContent()) === "1,001");
  assert.ok((await page.locator(".row").count()) < 60, "only those that can be seen are drawn");

  await place.write("flood.py", "import sys, time\nline = ('flood ' * 20 + chr(10)) * 850\nwhile True:\n    sys.stdout.write(line)\n    sys.stdout.flush()\n    time.sleep(0.01)\n");
  const flood = await place.start("python3 flood.py");
  await page.waitForSelector(`#row-${flood}.running`);
  await choose(page, flood);
  await page.locator(".line.remark", { hasText: "passed over" }).first().waitFor();
  const rate = await until("it floods", async () => {
    const text = await row(page, flood).locator(".facts").textContent();
    return /MB\/s/u.test(text) && text;
  });
  await page.evaluate(() => {
    globalThis.delays = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (entry.interactionId) globalThis.delays.push(entry.duration);
    }).observe({ type: "event", durationThreshold: 16, buffered: false });
  });
  const heap = async () => {
    const session = await page.context().newCDPSession(page);
    await session.send("HeapProfiler.collectGarbage");
    const metrics = (await session.send("Performance.enable"), await session.send("Performance.getMetrics")).metrics;
    const value = (name) => metrics.find((metric) => metric.name === name).value;
    return { megabytes: value("JSHeapUsedSize") / 1e6, nodes: value("Nodes") };
  };
  const resident = async () => Number(/VmRSS:\s+(\d+)/u.exec(await readFile(`/proc/${pid}/status`, "utf8"))[1]) / 1000;
  const [before, served] = [await heap(), await resident()];

  // What a person does: goes through the list and filters it, while the flood goes on beside it.
  for (let step = 0; step < 10; step += 1) {
    await page.keyboard.press("w");
    await page.waitForTimeout(120);
  }
  await page.keyboard.press("/");
  for (const letter of "number 77") {
    await page.keyboard.press(letter);
    await page.waitForTimeout(60);
  }
  await page.keyboard.press("Escape");
  await choose(page, flood);
  await page.waitForTimeout(4000);
  const delays = (await page.evaluate(() => globalThis.delays)).sort((one, other) => one - other);
  const slowest = delays.at(-1) ?? 0;
  const [after, servedAfter] = [await heap(), await resident()];
  const note = `${rate.trim()}; slowest input to paint ${slowest} ms of ${delays.length}; heap ${before.megabytes.toFixed(0)} → ${after.megabytes.toFixed(0)} MB, ${after.nodes} nodes; server ${served.toFixed(0)} → ${servedAfter.toFixed(0)} MB`;
  assert.ok(slowest < 100, note);
  assert.ok(after.megabytes < 64 && after.nodes < 60_000, note);
  assert.ok(servedAfter < 150 && servedAfter - served < 40, note);
  return { note };
});

let failures = 0;
const chosen = cases.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
for (const { name, options, run } of chosen) {
  const place = await Place.make(program);
  let opened;
  const began = Date.now();
  try {
    opened = await open(place, options);
    const { expected = [], note } = (await run({ place, ...opened })) ?? {};
    const unexpected = opened.complaints.filter((text) => !expected.some((pattern) => pattern.test(text)));
    assert.deepEqual(unexpected, [], "the browser complained");
    console.log(`ok    ${name} (${Date.now() - began} ms)${note ? `\n      ${note}` : ""}`);
  } catch (error) {
    failures += 1;
    console.log(`FAIL  ${name}: ${error.stack ?? error}\n      ${opened?.complaints.join("\n      ") ?? ""}`);
    if (process.env.KEEP && opened) await opened.page.screenshot({ path: join(process.env.KEEP, `${failures}.png`) }).catch(() => {});
  } finally {
    await opened?.context.close();
    await place.remove();
  }
}
await browser.close();
console.log(failures === 0 ? `the page: ${chosen.length} cases pass` : `the page: ${failures} of ${chosen.length} cases failed`);
process.exitCode = failures === 0 ? 0 : 1;
