// The page in a real browser, against the real binary with scripted models. Everything is on this machine: a request
// that would leave it, and an error in the console, fail the test.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { chromium } from "playwright-core";

import { startFront } from "./front.js";

const HERE = import.meta.dirname;
const ROOT = resolve(HERE, "../../..");
export const SHOTS = resolve(HERE, "../shots");

/** The binary under test. */
export const BINARY = process.env.POLYLOGUE_BIN ?? join(process.env.CARGO_TARGET_DIR ?? join(ROOT, "target"), "debug/polylogue");
/** A built page that stands in for the one inside the binary. */
export const DIST = process.env.POLYLOGUE_DIST;
/** Where every server of this run wants a token, and every page signs in with it. */
const TOKEN = process.env.POLYLOGUE_E2E_TOKEN;
export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Whether lines become clips here. Without a voice on the machine, what is about sound is not tested. */
export const HAS_VOICE = spawnSync("espeak-ng", ["--version"]).status === 0;

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** A server with its own store, on a port of its own. */
export class Server {
  static async start({ config = "polylogue.toml", token = TOKEN, env = {} } = {}) {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), "polylogue-page-"));
    server.port = await freePort();
    server.token = token;
    server.env = env;
    server.config = join(HERE, config);
    await server.run();
    if (DIST) server.front = await startFront(DIST, server.port);
    return server;
  }

  /** Where a browser finds it. */
  get origin() {
    return this.front?.origin ?? `http://127.0.0.1:${this.port}`;
  }

  async run() {
    const args = ["serve", "--listen", `127.0.0.1:${this.port}`, "--config", this.config, "--store", `sqlite:${join(this.folder, "store.db")}`];
    const env = { PATH: process.env.PATH, HOME: this.folder, ...this.env };
    if (this.token) env.POLYLOGUE_TOKENS = this.token;
    this.log = "";
    this.process = spawn(BINARY, args, { cwd: this.folder, env, stdio: ["ignore", "ignore", "pipe"] });
    this.process.stderr.on("data", (data) => (this.log += data));
    const { process: running } = this;
    const end = () => running.kill("SIGKILL");
    // A test that breaks off leaves no server behind.
    process.once("exit", end);
    this.exited = new Promise((resolve) => running.once("exit", resolve)).then(() => process.off("exit", end));
    for (let tries = 0; tries < 200; tries++) {
      const answer = await fetch(`http://127.0.0.1:${this.port}/healthz`).catch(() => undefined);
      if (answer?.ok) return;
      if (this.process.exitCode !== null) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`the server did not start: ${this.log}`);
  }

  /** Ends it as a power cut would, and starts it again on the same store and port. */
  async restart() {
    await this.kill();
    await this.run();
  }

  async kill() {
    this.process.kill("SIGKILL");
    await this.exited;
  }

  /** Stops its clock while something is looked at: nothing happens until {@link goOn}. */
  hold() {
    this.process.kill("SIGSTOP");
  }

  goOn() {
    this.process.kill("SIGCONT");
  }

  async stop() {
    await this.kill();
    this.front?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Asks the binary itself, past the page. */
  ask(method, path, body) {
    const headers = { ...(body ? { "content-type": "application/json" } : {}), ...(this.token ? { authorization: `Bearer ${this.token}` } : {}) };
    return fetch(`http://127.0.0.1:${this.port}${path}`, { method, headers, body: body && JSON.stringify(body) });
  }

  async api(method, path, body) {
    const answer = await this.ask(method, path, body);
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** A session as the journal has it. */
  session(id) {
    return this.api("GET", `/v1/sessions/${id}`);
  }

  /** Waits until a session has ended. */
  async ended(id) {
    for (let tries = 0; tries < 600; tries++) {
      const session = await this.session(id);
      if (session.status === "ended") return session;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`session ${id} does not end`);
  }
}

let shared;

/** One browser for all tests of a file. */
export async function browser() {
  shared ??= await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--autoplay-policy=no-user-gesture-required",
      "--mute-audio",
    ],
  });
  return shared;
}

export async function closeBrowser() {
  await shared?.close();
  shared = undefined;
}

export const DESK = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };

/**
 * A page that notices what it must not do. `page.errors` and `page.outside` fill as it goes. Where the server wants a
 * token, it is signed in, unless the test wants to do that itself.
 */
export async function open(server, path = "/", { size = DESK, theme = "light", motion = "reduce", signsIn = true } = {}) {
  const context = await (await browser()).newContext({ viewport: size, colorScheme: theme, reducedMotion: motion, locale: "en-GB" });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.errors = [];
  page.outside = [];
  page.isUnsigned = server.token !== undefined;
  page.on("pageerror", (error) => page.errors.push(String(error)));
  page.on("console", (message) => {
    // The browser tells of every answer that is no success: of a connection that the test itself broke, of a refusal
    // that it wants to see, and of the one that asks for a token.
    const isLoss = page.mayLoseConnection && /ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|Failed to load resource/.test(message.text());
    // A request of before may be refused after somebody has signed in; one that is refused then shows the field again.
    const isTokenWanted = server.token !== undefined && /status of 401/.test(message.text());
    if (message.type() === "error" && !isLoss && !isTokenWanted) page.errors.push(message.text());
  });
  await context.route("**/*", (route) => {
    const url = new URL(route.request().url());
    if (["127.0.0.1", "localhost"].includes(url.hostname) || ["data:", "blob:"].includes(url.protocol)) return route.continue();
    page.outside.push(url.href);
    return route.abort();
  });
  await page.goto(server.origin + path);
  if (page.isUnsigned && signsIn) await signIn(page, server.token);
  return page;
}

export async function signIn(page, token) {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Token").waitFor({ state: "detached" });
  page.isUnsigned = false;
}

/** Nothing went wrong in the console, and nothing left the machine. */
export async function clean(page) {
  assert.deepEqual(page.errors, [], "errors in the console");
  assert.deepEqual(page.outside, [], "requests that left the machine");
  await page.context().close();
}

const AXE = readFileSync(join(ROOT, "web/node_modules/axe-core/axe.min.js"), "utf8");

/** What axe-core finds seriously wrong with the page as it stands. */
export async function accessible(page, where) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} — ${failureSummary}`).join("\n  ")}`);
  assert.deepEqual(serious, [], `what axe finds in ${where}`);
}

/** Whatever a pointer could press, keys can reach. Of the tabs of a list, and of the radios of a group, one is enough. */
export async function reachable(page, where) {
  const lost = await page.evaluate(() => {
    const isShown = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
    const holder = (element) => element.closest("a, button, input, select, textarea, summary, label, [tabindex]");
    const isReached = (element) => {
      const held = holder(element);
      const target = held?.matches("label") ? held.control : held;
      if (!target) return false;
      const list = target.matches("[role=tab]") && target.closest("[role=tablist]");
      return target.disabled || target.tabIndex >= 0 || Boolean(list && list.querySelector('[role=tab][tabindex="0"]'));
    };
    const pressed = [...document.querySelectorAll("a, button, input, select, textarea, summary, [role]")].filter((element) =>
      element.matches("a, button, input, select, textarea, summary, [role=slider], [role=button], [role=tab], [role=link], [role=checkbox]"),
    );
    const pointed = [...document.querySelectorAll("body *")].filter((element) => getComputedStyle(element).cursor === "pointer");
    return [...new Set([...pressed, ...pointed])].filter((element) => isShown(element) && !isReached(element)).map((element) => element.outerHTML.slice(0, 160));
  });
  assert.deepEqual(lost, [], `what keys cannot reach in ${where}`);
}

/**
 * Keeps the view as it stands, on a phone and on a desk, in both themes, and looks that nothing is wider than the window.
 * A view that goes on is looked at while its server holds still. Whoever is signed in sees the same: it is kept once.
 */
export async function shoot(page, name, { still } = {}) {
  if (TOKEN) return;
  mkdirSync(SHOTS, { recursive: true });
  await page.evaluate(() => document.fonts.ready);
  still?.hold();
  try {
    await take(page, name);
  } finally {
    still?.goOn();
  }
}

/** Two frames later, everything has its colours and its letters. */
function settled(page) {
  return page.evaluate(async () => {
    await document.fonts.ready;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  });
}

async function take(page, name) {
  const before = page.viewportSize();
  for (const [size, called] of [[PHONE, "phone"], [DESK, "desk"]]) {
    await page.setViewportSize(size);
    for (const theme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: theme });
      await settled(page);
      await page.screenshot({ path: join(SHOTS, `${name}-${called}-${theme === "light" ? "paper" : "night"}.png`) });
    }
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(overflow <= 0, `${name} is ${overflow} px too wide on a ${called}`);
    await accessible(page, `${name} on a ${called}`);
    await reachable(page, `${name} on a ${called}`);
  }
  await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: "light" });
}

/** Keeps something that a test has measured, to be read afterwards. */
export function keep(name, value) {
  mkdirSync(SHOTS, { recursive: true });
  const file = join(SHOTS, "measured.json");
  const all = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  writeFileSync(file, JSON.stringify({ ...all, [name]: value }, null, 2));
}
