// All tests of the page in a browser, one file after the other: `npm run e2e`, or `npm run e2e -- chorus replay` for some.
// First on an open server, then the flows of every format and of the replay once more on one that wants a token.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";

import { BINARY, CHROMIUM, DIST, SHOTS } from "./harness.js";

const HERE = import.meta.dirname;
const SIGNED_IN = ["chorus", "scene", "stage", "room", "discussion", "score", "replay"];
const MOST_BYTES = 150_000;

const chosen = process.argv.slice(2);
const all = readdirSync(HERE).filter((file) => file.endsWith(".test.js")).map((file) => file.replace(".test.js", ""));
const unknown = chosen.filter((name) => !all.includes(name));
if (unknown.length > 0) fail(`There is no test ${unknown.join(", ")}: choose from ${all.join(", ")}.`);
for (const [what, file, hint] of [
  ["Chromium", CHROMIUM, "install Debian's package `chromium`, or say where it is with CHROMIUM"],
  ["The binary", BINARY, "run `cargo build`, or say where it is with POLYLOGUE_BIN"],
]) {
  if (!existsSync(file)) fail(`${what} is not at ${file}: ${hint}.`);
}

const isOf = (name) => chosen.length === 0 || chosen.includes(name);
if (chosen.length === 0) rmSync(SHOTS, { recursive: true, force: true });
const isSmall = weigh(DIST ?? resolve(HERE, "../../dist"));
const isOpenRight = run("An open server", all.filter(isOf), {});
const isSignedInRight = run("A server that wants a token", SIGNED_IN.filter(isOf), { POLYLOGUE_E2E_TOKEN: "let-me-in-0123456789" });
report();
process.exit(isSmall && isOpenRight && isSignedInRight ? 0 : 1);

/** Two cores are few: one file at a time. */
function run(title, names, env) {
  if (names.length === 0) return true;
  console.log(`\n${title}: ${names.join(", ")}`);
  const files = names.map((name) => join(HERE, `${name}.test.js`));
  const args = ["--test", "--test-concurrency=1", "--test-reporter=spec", ...files];
  return spawnSync(process.execPath, args, { stdio: "inherit", env: { ...process.env, ...env } }).status === 0;
}

/** Script and style together, as a browser gets them from a server that compresses. */
function weigh(dist) {
  const files = readdirSync(dist, { recursive: true }).filter((file) => /\.(js|css)$/.test(file));
  const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file))).length, 0);
  const isSmall = files.length > 0 && bytes <= MOST_BYTES;
  console.log(`Script and style: ${bytes.toLocaleString("en")} bytes compressed, ${isSmall ? "within" : "NOT within"} ${MOST_BYTES.toLocaleString("en")}.`);
  return isSmall;
}

function report() {
  const file = join(SHOTS, "measured.json");
  if (existsSync(file)) console.log(`\nMeasured:\n${readFileSync(file, "utf8")}`);
}

function fail(why) {
  console.error(why);
  process.exit(1);
}
