// The pictures of docs/ui.md: `node pictures.mjs PROGRAM CHROMIUM FOLDER`.

import { join } from "node:path";
import { browse, Place, until } from "./place.mjs";

const [program, executable, folder] = process.argv.slice(2);
const place = await Place.make(program);
const browser = await browse(executable);

const BUILD = String.raw`
printf '\033[1;32m   Compiling\033[0m shop-core v0.4.1 (crates/core)\n'
printf '\033[1;32m   Compiling\033[0m shop-web v0.4.1 (crates/web)\n'
printf '\033[1;33mwarning\033[0m\033[1m: unused variable: \140total\140\033[0m\n'
printf '  \033[1;34m-->\033[0m crates/web/src/cart.rs:41:9\n'
printf '\033[1;31merror[E0308]\033[0m\033[1m: mismatched types\033[0m\n'
printf '  \033[1;34m-->\033[0m crates/web/src/cart.rs:57:20\n'
printf '   \033[1;34m|\033[0m\n\033[1;34m57 |\033[0m     let price: u64 = item.price();\n'
printf '   \033[1;34m|\033[0m                \033[1;34m---\033[0m   \033[1;31m^^^^^^^^^^^^ expected \140u64\140, found \140Money\140\033[0m\n'
printf '\033[1;31merror\033[0m: could not compile \140shop-web\140 (lib) due to 1 previous error\n' >&2
exit 101`;

async function fill() {
  for (let round = 0; round < 6; round += 1) {
    await place.chiton("run", "--session", "shop", "git status --short | wc -l");
    await place.chiton("run", "--session", "shop", `seq ${(round + 1) * 400}`);
  }
  await place.chiton("run", "ls -la | sort -k5 -n | tail -3");
  await place.chiton("run", "grep -rn TODO . ; test -f Cargo.toml");
  await place.chiton("run", "--timeout", "300ms", "sleep 60");
  await place.write("build.sh", BUILD);
  await place.chiton("run", "--session", "shop", "bash build.sh");
  const server = await place.start("exec -a shop-server python3 -m http.server --bind 127.0.0.1 0", "--description", "the shop, for trying out");
  await place.start("for n in $(seq 1 100000); do echo \"$(date +%T) worker $((n % 4)): order $((4000 + n)) packed\"; sleep 0.4; done", "--session", "shop");
  const asks = await place.start("read -rp 'Deploy shop 0.4.1 to staging? [y/N] ' answer; echo $answer", "--pty");
  await place.write("screen.sh", String.raw`
printf '\033[2J\033[H\033[1;36m  shop 0.4.1\033[0m   4 workers   \033[32mhealthy\033[0m\n\n'
for worker in 1 2 3 4; do printf '  worker %s  \033[36m%s\033[0m%s  %3d %%\n' $worker "$(printf '█%.0s' $(seq 1 $((worker * 6))))" "$(printf '·%.0s' $(seq 1 $((30 - worker * 6))))" $((worker * 20)); done
printf '\n  \033[2mq quits, r restarts a worker\033[0m\n'
while read -rsn1 key; do [ "$key" = q ] && break; done`);
  const screen = await place.start("bash screen.sh", "--pty");
  return { server, asks, screen };
}

async function shoot(page, name) {
  // Letters move once more when fonts and lists have settled.
  await page.evaluate(() => document.fonts.ready);
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

try {
  const { asks, screen } = await fill();
  const rule = "{decision = 'ask', program = ['deploy'], reason = 'A deployment is seen by others.', match = ['deploy --to staging']}";
  const settings = await place.write("../../settings.toml", `[guard]\nrule = [${rule}]\n`);
  await place.write("deploy", "#!/bin/sh\necho deployed\n", 0o755);
  const { link, origin } = await place.serve("--control", "--port", "0");
  for (const [colours, sizes] of [["light", [[1280, 800], [390, 844]]], ["dark", [[1280, 800], [390, 844]]]]) {
    for (const [width, height] of sizes) {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme: colours, reducedMotion: "reduce" });
      const page = await context.newPage();
      page.on("console", (message) => ["error", "warning"].includes(message.type()) && console.error(message.text()));
      page.on("pageerror", (error) => console.error(error.message));
      const first = width === 1280 && colours === "light" ? link : await place.chiton("ui");
      await page.goto(first);
      await page.waitForSelector(".row.waiting");
      const size = width === 1280 ? "" : "-phone";
      if (size) {
        await shoot(page, `ui-list-${colours}${size}`);
        await context.close();
        continue;
      }
      await page.locator(".row", { hasText: "bash build.sh" }).first().click();
      await page.waitForSelector(".line.wrong");
      await shoot(page, `ui-run-${colours}`);
      await page.goto(`${origin}/#/runs/${screen}`);
      await page.waitForSelector(".xterm-rows");
      await until("the screen", () => page.locator(".xterm-rows").textContent().then((text) => text.includes("worker 4")));
      await shoot(page, `ui-terminal-${colours}`);
      const asked = place.chiton("--config", settings, "call", "Bash", JSON.stringify({ command: "./deploy --to staging" }));
      await page.goto(`${origin}/#/approvals`);
      await page.locator(".card").waitFor();
      await shoot(page, `ui-approvals-${colours}`);
      await page.getByRole("button", { name: "No", exact: true }).click();
      await asked;
      await page.goto(`${origin}/#/charts`);
      await page.waitForSelector(".drawing");
      await shoot(page, `ui-charts-${colours}`);
      await context.close();
    }
  }
  console.log(`pictures of ${asks} and others are in ${folder}`);
} finally {
  await browser.close();
  await place.remove();
}
