// A state directory of its own, the real program, the page that it serves, and a real browser.

import { execFile, spawn } from "node:child_process";
import { access, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--force-color-profile=srgb", "--font-render-hinting=none",
];

export class Place {
  #servers = new Set();

  /** `folder` is where everything is kept; it goes with the place. */
  static async make(program) {
    const place = new Place();
    place.program = program;
    place.folder = await mkdtemp(join(tmpdir(), "chiton-page-"));
    place.work = join(place.folder, "work", "shop");
    await mkdir(place.work, { recursive: true });
    place.environment = {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: place.folder,
      LANG: "C.UTF-8",
      XDG_STATE_HOME: join(place.folder, "state"),
    };
    return place;
  }

  get state() {
    return join(this.folder, "state", "chiton");
  }

  /** Runs the program to its end; gives its standard output. */
  chiton(...words) {
    return new Promise((resolve, reject) => {
      execFile(this.program, words, { cwd: this.work, env: this.environment, maxBuffer: 64 << 20 }, (error, out) => {
        // The exit code is that of the command, as a rule.
        if (error && typeof error.code !== "number") reject(error);
        else resolve(out.trim());
      });
    });
  }

  /** Starts a command that goes on; gives its id. */
  start(command, ...words) {
    return this.chiton("run", "--background", ...words, "--", command);
  }

  /** Serves the page; gives the link, its parts, and a way to end it. */
  serve(...words) {
    const server = spawn(this.program, ["ui", ...words], { cwd: this.work, env: this.environment, stdio: ["ignore", "pipe", "pipe"] });
    this.#servers.add(server);
    return new Promise((resolve, reject) => {
      let said = "";
      server.stderr.on("data", (text) => (said += text));
      server.stdout.once("data", (line) => {
        const link = new URL(line.toString().trim());
        resolve({ link: link.href, origin: link.origin, pid: server.pid, end: () => this.#stop(server) });
      });
      server.once("exit", (code) => reject(new Error(`chiton ui ended with ${code}: ${said}`)));
    });
  }

  #stop(server) {
    this.#servers.delete(server);
    if (server.exitCode !== null) return undefined;
    return new Promise((resolve) => {
      server.once("exit", resolve);
      server.kill("SIGTERM");
    });
  }

  /** Writes a file into the folder where commands run. */
  async write(name, text, mode = 0o644) {
    const path = join(this.work, name);
    await writeFile(path, text, { mode });
    return path;
  }

  /** Writes the settings of the person. */
  async settle(text) {
    const folder = join(this.folder, ".config", "chiton");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "config.toml"), text, { mode: 0o600 });
  }

  /** Whether there is such a file where commands run. */
  has(name) {
    return access(join(this.work, name)).then(() => true, () => false);
  }

  async remove() {
    for (const server of this.#servers) await this.#stop(server);
    await this.chiton("kill", "--all", "--grace", "200ms");
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** A browser with a profile of its own. */
export function browse(executablePath) {
  return chromium.launch({ executablePath, args: FLAGS, headless: true });
}

/** Waits until something is true, which nobody reports. */
export async function until(what, check, limit = 20_000) {
  const end = Date.now() + limit;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what}: not within ${limit} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
