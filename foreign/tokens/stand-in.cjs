#!/usr/bin/env node
// Prints what a program of this name printed when it was recorded, each line where it came from, and ends as it did.
const { readFileSync, writeFileSync, writeSync, existsSync } = require("node:fs");
const { basename, join } = require("node:path");

const command = [basename(process.argv[1]), ...process.argv.slice(2)].join(" ");
const file = join(__dirname, "turns.json");
const turns = JSON.parse(readFileSync(file, "utf8"));
const left = turns[command];
if (!left) {
  process.stderr.write(`stand-in: nothing is recorded for ${command}\n`);
  process.exit(127);
}
const recording = left.length > 1 ? left.shift() : left[0];
writeFileSync(file, JSON.stringify(turns));

const about = JSON.parse(readFileSync(`${recording}.json`, "utf8"));
const text = readFileSync(`${recording}.out`);
const isError = (line) => about.stderr.some(([first, last]) => first <= line && line <= last);
const write = (stream, bytes) => {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(stream, bytes, done);
  }
};
for (let at = 0, line = 1; at < text.length; line += 1) {
  const end = text.indexOf(10, at) + 1 || text.length;
  write(isError(line) ? 2 : 1, text.subarray(at, end));
  at = end;
}
process.exit(about.exit);
