#!/usr/bin/env node
// Finds the program in the package for this machine, and becomes it.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

/** The path of the program; ends this process where there is none. */
function program() {
  const name = `@chiton-shell/${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/bin/chiton`);
  } catch {
    const why =
      process.platform === "linux"
        ? `the package ${name} is not installed. npm leaves it out with --omit=optional or --no-optional; install it by name, or without these options`
        : `it runs on Linux only, and this is ${process.platform}`;
    console.error(`chiton: ${why}`);
    process.exit(125);
  }
}

const path = program();
const words = process.argv.slice(2);

if (typeof process.execve === "function") {
  // No process between the client and the program: what it sends, signals among it, arrives.
  process.removeAllListeners("warning");
  process.execve(path, ["chiton", ...words], process.env);
}

// An older Node cannot become another program, so it stays, passes signals on and ends as the program did.
const child = spawn(path, words, { stdio: "inherit", argv0: "chiton" });
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`chiton: ${path} cannot be started: ${error.message}`);
  process.exit(125);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  // A signal that does not end this process still says how the program ended.
  setImmediate(() => process.exit(128 + constants.signals[signal]));
});
