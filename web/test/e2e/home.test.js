// The home page: five doors, what was said lately, what is ready here; empty, loading, out of reach, and full.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { clean, closeBrowser, DESK, open, PHONE, Server, shoot, SHOTS } from "./harness.js";

let server;
before(async () => (server = await Server.start()));
after(async () => {
  await closeBrowser();
  await server.stop();
});

const rows = (page) => page.locator(".rows li");
const row = (page, title) => rows(page).filter({ hasText: title });
const say = (room, body) => server.api("POST", `/v1/rooms/${room}/messages`, body);
const discuss = (title, participants) => server.api("POST", "/api/discussions", { title, participants });

/** Keeps what a phone shows further down. */
async function scroll(page, name) {
  await page.setViewportSize(PHONE);
  await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
  await page.screenshot({ path: join(SHOTS, `${name}-below-phone-paper.png`) });
  await page.setViewportSize(DESK);
}

/** Goes on with Tab until this has the focus. */
async function tabTo(page, target) {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    if (await target.evaluate((element) => element === document.activeElement)) return;
  }
  assert.fail("it cannot be reached by keyboard");
}

test("nothing has been said yet: five doors, and what is ready here", async () => {
  const page = await open(server, "/");
  await page.getByText("Nothing has been said here yet.").waitFor();
  const doors = page.locator(".doors > li");
  assert.deepEqual(await doors.locator("h2").allInnerTexts(), ["Chorus", "Scene", "Collaboration", "Discussion", "Score"]);
  assert.equal(await doors.locator("svg").count(), 5);
  assert.equal(await doors.getByRole("button").count(), 5);
  await page.getByText(/^Here .*script.* think/).waitFor();
  await shoot(page, "home-empty");
  await page.getByText("What would add more").click();
  await page.getByText("OPENAI_API_KEY").first().waitFor();
  await page.getByText("What would add more").scrollIntoViewIfNeeded();
  await shoot(page, "home-ready");
  await scroll(page, "home-ready");
  await clean(page);
});

test("every door opens, and its example begins with one click", async () => {
  const page = await open(server, "/");
  for (const [door, path] of [["Chorus", "/chorus"], ["Scene", "/scene"], ["Collaboration", "/room"], ["Discussion", "/discussion"], ["Score", "/score"]]) {
    await page.getByRole("heading", { name: door }).getByRole("link").click();
    await page.waitForURL(server.origin + path);
    await page.getByRole("link", { name: "Polylogue" }).click();
  }
  const begun = { "What is a home": /\/chorus\/[0-9a-f-]{36}$/, "The Apology": /\/scene\/[0-9a-f-]{36}$/, "A fairy tale": /\/room\/lobby$/, "Repair the roof": /\/discussion\/[0-9a-f-]{36}$/, "Ask a council": /\/score\/[0-9a-f-]{36}$/ };
  for (const [label, address] of Object.entries(begun)) {
    await page.locator(".doors").getByRole("button", { name: label }).click();
    await page.waitForURL(address);
    await page.goBack();
    await page.getByRole("heading", { name: "Who should talk" }).waitFor();
  }
  await rows(page).nth(4).waitFor();
  assert.deepEqual((await rows(page).locator(".format").allInnerTexts()).sort(), ["chorus", "collaboration", "discussion", "scene", "score"]);
  await clean(page);
});

test("an example begins by keyboard alone", async () => {
  const page = await open(server, "/");
  await tabTo(page, page.locator(".doors").getByRole("button", { name: /Repair the roof/ }));
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/discussion\//);
  await page.getByText("It waits for you.").waitFor();
  await clean(page);
});

test("an address that nobody has is said to be nowhere", async () => {
  const page = await open(server, "/");
  await page.goto(`${server.origin}/nobody/lives/here`);
  await page.getByText("Nobody speaks here.").waitFor();
  await shoot(page, "nowhere");
  await page.getByRole("link", { name: "Begin at home" }).click();
  await page.getByRole("heading", { name: "Who should talk" }).waitFor();
  await clean(page);
});

test("what was said lately, with who takes part and where it stands; what runs is followed", async () => {
  const { sessionId } = await say("porch", { text: "Tell of a cloud and a well.", mode: "collaborate", maxRounds: 4 });
  await server.ended(sessionId);
  await discuss("<img src=x onerror=alert(1)> \u202eabc", [{ role: "user" }, { role: "manager", agent: "mason" }]);
  await discuss("בית הוא המקום שבו האור נשאר דולק בשבילך, גם כשכבר אין מי שיחכה", [{ role: "user" }, { role: "specialist", agent: "slater" }]);
  await discuss(`Donau${"dampfschifffahrt".repeat(12)}`, [{ role: "user" }, { role: "specialist", agent: "banker" }]);
  const { sessionId: slow } = await say("porch", { text: "Take your time: a tale to be followed.", mode: "collaborate", maxRounds: 2 });
  const page = await open(server, "/");
  page.on("dialog", (dialog) => page.errors.push(`a dialog: ${dialog.message()}`));
  await row(page, "a tale to be followed").getByText("running").waitFor();
  await row(page, "donau").or(row(page, "Donau")).first().getByText("waits for you").waitFor();
  const tale = row(page, "Tell of a cloud and a well.");
  assert.deepEqual(await tale.locator(".initial").allInnerTexts(), ["G", "C", "Y"]);
  assert.match(await tale.innerText(), /done/);
  assert.ok(!/[\u202a-\u202e]/.test(await page.locator("main").innerText()));
  assert.equal(await page.locator("main img").count(), 0);
  await shoot(page, "home-recent", { still: server });
  await scroll(page, "home-recent");
  await server.ended(slow);
  await row(page, "a tale to be followed").getByText("running").waitFor({ state: "detached" });
  await row(page, "a tale to be followed").getByText("all rounds used").waitFor();

  // A session of a room is watched in its room.
  await tale.getByRole("link").click();
  await page.waitForURL(/\/room\/porch$/);
  await page.getByText("Tell of a cloud and a well.").waitFor();
  await clean(page);
});

test("of many, the newest are here and the others a link away", async () => {
  for (let nth = 1; nth <= 9; nth++) await discuss(`Question ${nth}`, [{ role: "user" }, { role: "specialist", agent: "banker" }]);
  const page = await open(server, "/");
  await page.getByRole("link", { name: "All sessions" }).waitFor();
  assert.equal(await rows(page).count(), 8);
  await row(page, "Question 9").waitFor();
  assert.equal(await row(page, "Question 1").count(), 0);
  await shoot(page, "home-many");
  await page.getByRole("link", { name: "All sessions" }).click();
  await page.waitForURL(/\/sessions$/);
  await row(page, "Question 1").waitFor();
  await clean(page);
});

test("while it looks, and when the server is out of reach, it says so; then it finds everything again", async () => {
  const page = await open(server, "/sessions");
  page.mayLoseConnection = true;
  let go;
  const held = new Promise((resolve) => (go = resolve));
  await page.route("**/v1/sessions?*", async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("link", { name: "Polylogue" }).click();
  await page.getByText("Looking…").waitFor();
  await shoot(page, "home-loading");
  await server.kill();
  go();
  await page.getByText("The server cannot be reached.").waitFor();
  await shoot(page, "home-failed");
  await scroll(page, "home-failed");
  await page.locator(".doors").getByRole("button", { name: /What is a home/ }).click();
  await page.locator(".doors").getByText("The server cannot be reached.").waitFor();
  await server.run();
  await page.locator("section").getByRole("button", { name: "Try again" }).click();
  await row(page, "Question 9").waitFor();
  await page.locator("section").getByText("The server cannot be reached.").waitFor({ state: "detached" });
  await clean(page);
});
