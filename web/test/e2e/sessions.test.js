// The recorded sessions: searched, filtered, page by page, deleted.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { clean, closeBrowser, open, Server, shoot } from "./harness.js";

let server;
before(async () => (server = await Server.start()));
after(async () => {
  await closeBrowser();
  await server.stop();
});

const rows = (page) => page.locator(".rows li");
const row = (page, title) => rows(page).filter({ hasText: title });
const titles = (page) => page.locator(".rows .title").allInnerTexts();
const say = (room, body) => server.api("POST", `/v1/rooms/${room}/messages`, body);
const discuss = (title) =>
  server.api("POST", "/api/discussions", { title, participants: [{ role: "user" }, { role: "specialist", agent: "banker" }] });
const hasFocus = (target) => target.evaluate((element) => element === document.activeElement);

test("where nothing was said, it says so", async () => {
  const page = await open(server, "/sessions");
  await page.getByText("Nothing has been said here yet.").waitFor();
  await shoot(page, "sessions-empty");
  await clean(page);
});

test("they are searched and filtered, and the address carries the search", async () => {
  await discuss("The roof");
  await discuss("The stairs");
  const { sessionId } = await say("attic", { text: "Tell of a roof and a cloud.", mode: "collaborate", maxRounds: 4 });
  await server.ended(sessionId);
  const page = await open(server, "/sessions");
  await rows(page).nth(2).waitFor();
  await shoot(page, "sessions");

  await page.getByLabel("Search").fill("ROOF");
  await row(page, "The stairs").waitFor({ state: "detached" });
  assert.deepEqual(await titles(page), ["Tell of a roof and a cloud.", "The roof"]);
  await page.waitForURL(/\/sessions\?q=ROOF$/);
  await page.getByLabel("Format").selectOption("discussion");
  await row(page, "Tell of a roof").waitFor({ state: "detached" });
  assert.deepEqual(await titles(page), ["The roof"]);
  await page.reload();
  await row(page, "The roof").waitFor();
  assert.equal(await page.getByLabel("Search").inputValue(), "ROOF");
  assert.equal(await page.getByLabel("Format").inputValue(), "discussion");
  assert.deepEqual(await titles(page), ["The roof"]);

  await page.getByLabel("State").selectOption("ended");
  await page.getByText("Nothing like that was said here.").waitFor();
  await shoot(page, "sessions-none");
  await page.getByRole("link", { name: "Show all" }).click();
  await rows(page).nth(2).waitFor();
  assert.equal(await page.getByLabel("Search").inputValue(), "");
  assert.equal(await page.getByLabel("State").inputValue(), "");

  // A session of a room leads to its room.
  await row(page, "Tell of a roof").locator(".title").click();
  await page.waitForURL(/\/room\/attic$/);
  await page.goBack();
  await row(page, "The roof").getByRole("link", { name: "Replay" }).click();
  await page.waitForURL(/\/replay\/[0-9a-f-]{36}/);
  await clean(page);
});

test("one is deleted in place, by keyboard, and the focus goes to the next", async () => {
  const page = await open(server, "/sessions");
  await rows(page).nth(2).waitFor();
  const [, second, third] = await titles(page);
  const button = rows(page).nth(1).getByRole("button", { name: "Delete" }).first();
  await button.focus();
  await page.keyboard.press("Enter");
  await page.getByText("Delete it for good").waitFor();
  assert.ok(await hasFocus(page.getByRole("button", { name: "Keep it" })), "the safe answer has the focus");
  await shoot(page, "sessions-delete");
  await page.keyboard.press("Escape");
  await page.getByText("Delete it for good").waitFor({ state: "detached" });
  assert.ok(await hasFocus(button), "the focus is back where it was");

  await page.keyboard.press("Enter");
  await page.getByText("Delete it for good").waitFor();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await row(page, second).waitFor({ state: "detached" });
  assert.ok(await hasFocus(rows(page).nth(1).locator(".title")));
  assert.equal(await rows(page).nth(1).locator(".title").innerText(), third);
  await page.getByText(`${second} was deleted.`).waitFor({ state: "attached" });
  const { sessions } = await server.api("GET", "/v1/sessions");
  assert.ok(!sessions.some((session) => session.title === second));

  // After the last one, the one before it is next.
  await rows(page).nth(1).getByRole("button", { name: "Delete" }).first().click();
  await rows(page).nth(1).getByRole("button", { name: "Delete", exact: true }).click();
  await row(page, third).waitFor({ state: "detached" });
  assert.ok(await hasFocus(rows(page).first().locator(".title")));
  await clean(page);
});

test("one that runs is not deleted, and that is said in its place", async () => {
  const { sessionId } = await say("attic", { text: "Take your time: it runs.", mode: "collaborate", maxRounds: 90 });
  const page = await open(server, "/sessions?status=running");
  page.mayLoseConnection = true;
  const running = row(page, "it runs");
  await running.getByRole("button", { name: "Delete" }).first().click();
  await running.getByRole("button", { name: "Delete", exact: true }).click();
  await running.getByRole("alert").waitFor();
  await shoot(page, "sessions-refused", { still: server });
  await running.getByRole("button", { name: "Keep it" }).click();
  assert.equal((await server.session(sessionId)).status, "running");
  await server.api("POST", `/v1/sessions/${sessionId}/stop`);
  await row(page, "it runs").waitFor({ state: "detached" });
  await page.getByText("Nothing like that was said here.").waitFor();
  await clean(page);
});

test("of many, the earlier ones are a button away, and a search goes through all of them", async () => {
  for (let nth = 1; nth <= 60; nth++) await discuss(`Question ${nth}`);
  const page = await open(server, "/sessions");
  page.mayLoseConnection = true;
  await row(page, "Question 60").waitFor();
  assert.equal(await rows(page).count(), 50);
  await page.getByRole("button", { name: "Earlier ones" }).scrollIntoViewIfNeeded();
  await shoot(page, "sessions-many");
  await page.getByRole("button", { name: "Earlier ones" }).click();
  await rows(page).nth(59).waitFor();
  const seen = await titles(page);
  assert.deepEqual(seen.slice(0, 60), Array.from({ length: 60 }, (_, at) => `Question ${60 - at}`));
  assert.equal(new Set(seen).size, seen.length);
  await page.getByRole("button", { name: "Earlier ones" }).waitFor({ state: "detached" });
  await page.getByLabel("Search").fill("question 3");
  await row(page, "Question 60").waitFor({ state: "detached" });
  assert.equal(await rows(page).count(), 11);

  await server.kill();
  await page.getByLabel("Search").fill("question 4");
  await page.getByText("The server cannot be reached.").waitFor();
  await shoot(page, "sessions-failed");
  await server.run();
  await page.getByRole("button", { name: "Try again" }).click();
  await row(page, "Question 44").waitFor();
  await clean(page);
});
