// The chorus in a browser: begun through the page, watched, reloaded, cut off, gone on with; what the page shows at
// the end is what the journal has.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { clean, closeBrowser, HAS_VOICE, open, Server, shoot } from "./harness.js";

let server;
before(async () => {
  server = await Server.start();
});
after(async () => {
  await closeBrowser();
  await server.stop();
});

const STRANGE = `strange words: <img src=x onerror=alert(1)> [a](javascript:alert(1)) \u202Eturned\u2066\u0007 ${"x".repeat(300)} שלום`;

/** Control characters, and marks that turn text around. */
const ACTS = /[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/;

/** Begins one through the page, and gives its id. */
async function begin(page, message) {
  await page.getByLabel("Your message to the chorus").fill(message);
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForURL(/\/chorus\/[0-9a-f-]{36}/);
  return new URL(page.url()).pathname.split("/").at(-1);
}

/** What the cards say, in the form in which the journal has it. */
async function shown(page) {
  const said = await page.evaluate(() =>
    [...document.querySelectorAll("[data-slot]")].flatMap((card) =>
      [...card.querySelectorAll("[data-turn]")].flatMap((turn) => {
        const text = turn.querySelector(".text");
        const to = turn.querySelector(".to")?.textContent.match(/\d/)?.[0];
        return text ? [{ slot: Number(card.dataset.slot), turn: Number(turn.dataset.turn), text: text.textContent.trim(), to: to && `slot-${to}` }] : [];
      }),
    ),
  );
  return said.map(({ to, ...turn }) => (to ? { ...turn, to } : turn));
}

async function sameAsJournal(page, id, message = 1) {
  const session = await server.session(id);
  const turns = [1, 2, 3].map((turn) => turn + (message - 1) * 3);
  const expected = session.lines
    .filter(({ turn }) => turns.includes(turn))
    .map(({ speaker, turn, text, to }) => ({ slot: Number(speaker.slice(5)), turn: ((turn - 1) % 3) + 1, text, to }))
    .sort((one, other) => one.slot - other.slot || one.turn - other.turn);
  assert.ok(expected.length > 0);
  assert.deepEqual(await shown(page), expected.map(({ to, ...turn }) => (to ? { ...turn, to } : turn)));
}

/** Waits until the page says that it is over. */
const over = (page) => page.getByRole("link", { name: "Replay" }).waitFor({ timeout: 60_000 });

test("a chorus from the message to the last reply", async () => {
  const page = await open(server, "/chorus");
  await shoot(page, "chorus-begin");
  await page.getByRole("button", { name: "change" }).click();
  await page.getByLabel("Who is speaker 6").waitFor();
  assert.equal(await page.getByLabel(/Who is speaker/).count(), 6);
  await shoot(page, "chorus-seats");
  await page.getByRole("button", { name: "done" }).click();
  const id = await begin(page, "Tell me slowly: what is a home?");
  await page.getByText("thinking").first().waitFor();
  await shoot(page, "chorus-live", { still: server });
  await page.getByText(/of 6 comments/).waitFor();
  await page.locator(".arcs path").first().waitFor({ state: "attached" });
  await shoot(page, "chorus-comments", { still: server });
  await over(page);
  await sameAsJournal(page, id);
  assert.match(await page.locator("#speaker-1").innerText(), /received 4 comments, 3 passed on/);
  assert.doesNotMatch(await page.locator("#speaker-5").innerText(), /received/);

  // One turn of a card is open at a time, and the label opens it; by keyboard too.
  const first = page.locator("#speaker-1 [aria-expanded]").first();
  await first.focus();
  await page.keyboard.press("Enter");
  assert.equal(await first.getAttribute("aria-expanded"), "true");
  assert.equal(await page.locator("#speaker-1 [aria-expanded=true]").count(), 1);

  // Everything that has a clip can be heard.
  if (HAS_VOICE) {
    await page.getByRole("button", { name: "Hear turn 1" }).click();
    await page.getByRole("button", { name: "Stop turn 1" }).click();
  }
  await shoot(page, "chorus-ended");
  await clean(page);
});

test("reloaded and cut off in the middle, nothing is missing", async () => {
  const page = await open(server, "/chorus");
  page.mayLoseConnection = true;
  const id = await begin(page, "Go slowly through the house.");
  await page.getByText(/of 6 answers/).waitFor();
  await page.reload();
  await page.getByText(/of 6 comments/).waitFor();
  await server.kill();
  await page.getByText("Reconnecting").waitFor();
  await shoot(page, "chorus-reconnecting");
  await server.run();
  await page.getByText("Reconnecting").waitFor({ state: "detached" });
  await over(page);
  await sameAsJournal(page, id);
  await clean(page);
});

test("a slot that fails says so in its place, and the others go on", async () => {
  const page = await open(server, "/chorus");
  const id = await begin(page, "What is a home without the kettle?");
  await over(page);
  await page.locator("#speaker-4").getByText(/Could not answer/).waitFor();
  await sameAsJournal(page, id);
  await shoot(page, "chorus-failed-in-part");
  await clean(page);
});

test("where nobody can answer, it is said what to do", async () => {
  const page = await open(server, "/chorus");
  await begin(page, "Is nobody at all there?");
  await over(page);
  await page.getByText("Nobody could answer. Each card says why.").waitFor();
  await page.getByRole("button", { name: "Ask them again" }).waitFor();
  await shoot(page, "chorus-failed");
  await clean(page);
});

test("it can be stopped, and goes on", async () => {
  const page = await open(server, "/chorus");
  const id = await begin(page, "Count slowly.");
  await page.getByText("thinking").first().waitFor();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("It was stopped").waitFor();
  await shoot(page, "chorus-stopped");
  await page.getByRole("button", { name: "Let it go on" }).click();
  await page.getByText("It was stopped").waitFor({ state: "detached" });
  await over(page);
  await sameAsJournal(page, id);
  await clean(page);
});

test("a further message goes on in the same session, and the one before can be looked at", async () => {
  const page = await open(server, "/chorus");
  const id = await begin(page, "What is a home?");
  await over(page);
  await page.getByLabel("Say more to the chorus").fill("And a house?");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("message 2 of 2").waitFor();
  await over(page);
  await sameAsJournal(page, id, 2);
  await shoot(page, "chorus-second");
  await page.getByRole("button", { name: "The message before" }).click();
  await page.getByRole("heading", { name: "What is a home?" }).waitFor();
  await sameAsJournal(page, id, 1);
  await clean(page);
});

test("nothing that is said acts", async () => {
  const page = await open(server, "/chorus");
  page.on("dialog", (dialog) => {
    page.errors.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await begin(page, STRANGE);
  await over(page);
  assert.equal(await page.locator("main img").count(), 0);
  assert.equal(await page.locator('main a[href^="javascript:"]').count(), 0);
  assert.ok(!ACTS.test((await page.locator("body").innerText()) + (await page.title())), "nothing turns the text around");
  await shoot(page, "chorus-strange");
  await clean(page);
});

test("a kiosk shows only the words, and plays them", async () => {
  const page = await open(server, "/chorus?kiosk", { size: { width: 1920, height: 1080 } });
  await page.getByLabel("Your message to the chorus").fill("What is a home, when the people you built it for have gone?");
  await page.keyboard.press("Enter");
  await page.waitForURL(/kiosk/);
  await page.locator(".kiosk [data-slot]").nth(5).waitFor();
  assert.equal(await page.locator("header").count(), 0);
  assert.equal(await page.getByRole("textbox").count(), 0);
  if (HAS_VOICE) await page.locator(".kiosk .heard").waitFor({ timeout: 30_000 });
  await shoot(page, "chorus-kiosk");
  await clean(page);
});

test("the door's example begins one with one click", async () => {
  const page = await open(server, "/");
  await page.getByRole("button", { name: /What is a home/ }).click();
  await page.waitForURL(/\/chorus\/[0-9a-f-]{36}/);
  await page.getByText(/of 6 answers|of 6 comments/).waitFor();
  await clean(page);
});
