// A discussion through the page: set up, spoken in, paused, reloaded, killed, complete.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { clean, closeBrowser, open, Server, shoot } from "./harness.js";

let server;
before(async () => (server = await Server.start()));
after(async () => {
  await closeBrowser();
  await server.stop();
});

const field = (page) => page.locator(".composer textarea");
const texts = (page) => page.locator("[role=log] .text").allInnerTexts();
const idOf = (page) => new URL(page.url()).pathname.split("/")[2];

async function speak(page, text) {
  await page.locator(".composer textarea:enabled").waitFor();
  await field(page).fill(text);
  await page.getByRole("button", { name: "Say it" }).click();
  await page.locator("[role=log] .text", { hasText: text.slice(0, 12) }).first().waitFor();
}

/** The page shows what the journal has. */
async function likeTheJournal(page) {
  const { lines } = await server.session(idOf(page));
  const said = lines.filter((line) => line.kind !== "router").map((line) => line.text);
  assert.deepEqual(await texts(page), said);
}

test("one is set up, by hand and by keyboard", async () => {
  const page = await open(server, "/discussion");
  const places = page.getByRole("listitem").filter({ has: page.getByRole("button", { name: /^Remove/ }) });
  await places.nth(3).waitFor();
  await shoot(page, "discussion-begin");
  await page.getByRole("button", { name: "Begin" }).click();
  await page.getByText("It needs a title.").waitFor();
  await page.getByLabel("Title", { exact: true }).fill("The roof");
  await page.getByLabel("Agent at place 2").selectOption("mason");
  await page.getByLabel("Agent at place 3").selectOption("banker");
  await page.getByLabel("Agent at place 4").selectOption("slater");
  await page.getByLabel("Agent at place 4").focus();
  await page.keyboard.press("Alt+ArrowUp");
  assert.equal(await page.getByLabel("Agent at place 3").inputValue(), "slater");
  assert.ok(await page.getByLabel("Agent at place 3").evaluate((element) => element === document.activeElement), "the focus moves along");
  await page.getByRole("button", { name: "Move mason up" }).click();
  assert.equal(await page.getByLabel("Agent at place 1").inputValue(), "mason");
  await page.getByRole("button", { name: "Move mason down" }).click();
  await page.getByRole("button", { name: "Add a person" }).click();
  await page.getByRole("button", { name: "Begin" }).click();
  await page.getByText("Where several people take part, each needs a name.").waitFor();
  await shoot(page, "discussion-begin-lacks");
  await page.getByRole("button", { name: "Remove You" }).last().click();
  await page.getByRole("button", { name: "Begin" }).click();
  await page.waitForURL(/\/discussion\/[0-9a-f-]{36}$/);
  await page.getByText("your turn", { exact: true }).waitFor();
  const { setup } = await begun(page);
  assert.deepEqual(setup.participants.map((one) => one.agent ?? one.person), ["user", "mason", "slater", "banker"]);
  await clean(page);
});

async function begun(page) {
  const state = await server.api("GET", `/api/discussions/${idOf(page)}`);
  return { setup: { participants: state.speakerOrder.map((name) => ({ agent: name })) } };
}

test("three rounds with a reload, a pause and a killed server; a turn that fails is said in its place", async () => {
  const page = await open(server, "/");
  page.mayLoseConnection = true;
  await page.getByRole("button", { name: /Repair the roof/ }).click();
  await page.getByText("It waits for you.").waitFor();
  await shoot(page, "discussion-your-turn");

  await speak(page, "It leaks over the stairs. Repair or replace?");
  await page.getByText("mason speaks", { exact: true }).waitFor();
  assert.ok(await field(page).isDisabled(), "it is not the person's turn");
  await page.locator(".writing", { hasText: "Before we choose" }).waitFor();
  await shoot(page, "discussion-speaking", { still: server });
  await page.reload();
  await page.getByText("your turn", { exact: true }).waitFor();
  await likeTheJournal(page);

  await speak(page, "How long can we wait?");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("Discussion paused.").waitFor();
  await shoot(page, "discussion-paused");
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText(/mason speaks|slater speaks/).first().waitFor();
  await server.kill();
  await page.getByText(/Reconnecting/).waitFor();
  await shoot(page, "discussion-reconnecting");
  await server.run();
  await page.getByText("your turn", { exact: true }).waitFor();
  await likeTheJournal(page);

  await speak(page, "Then both sides.");
  await page.getByText(/Said nothing: .*the slater has left for the day/).waitFor();
  await page.getByText("Discussion completed after round 3.").waitFor();
  await likeTheJournal(page);
  assert.equal(await page.getByRole("heading", { name: /^Round/ }).count(), 3);
  assert.deepEqual(await page.locator(".count").evaluateAll((all) => all.map((one) => one.firstChild.textContent)), ["3", "3", "3", "3"]);
  await shoot(page, "discussion-complete");

  // It is complete; with more rounds it goes on.
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("your turn", { exact: true }).waitFor();
  assert.equal(await page.getByRole("heading", { name: /^Round/ }).count(), 4);
  await clean(page);
});

test("words do nothing, whoever they are from", async () => {
  const participants = [{ role: "user" }, { role: "specialist", agent: "banker" }];
  const title = "<img src=x onerror=alert(1)> \u202eabc";
  const { project } = await server.api("POST", "/api/discussions", { title, topic: "[a](javascript:alert(1))", participants });
  const page = await open(server, `/discussion/${project.id}`);
  page.on("dialog", (dialog) => page.errors.push(`a dialog: ${dialog.message()}`));
  await speak(page, `What can hurt? <b onclick=alert(1)>x</b> [a](javascript:alert(1)) ${"w".repeat(300)} שלום`);
  await page.locator("[role=log] .text", { hasText: "<img src=x" }).waitFor();
  assert.ok(!/[\u202a-\u202e]/.test(await page.locator("main").innerText()));
  assert.equal(await page.locator("main img, main [href^='javascript'], main [onclick]").count(), 0);
  await shoot(page, "discussion-inert");
  await clean(page);
});

test("one that is not there is said", async () => {
  const page = await open(server, "/");
  page.mayLoseConnection = true;
  await page.goto(`${server.origin}/discussion/00000000-0000-4000-8000-000000000000`);
  await page.getByRole("alert").waitFor();
  await shoot(page, "discussion-nowhere");
  await clean(page);
});
