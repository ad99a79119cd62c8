// The replay: any session again, line by line, with what is behind each, and another way from any of them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { clean, closeBrowser, HAS_VOICE, open, PHONE, Server, shoot } from "./harness.js";

const APOLOGY = {
  name: "the-apology",
  prompt: "Alice confronts Bob about Henderson. Charlie is there.\nScene goal: Bob apologizes, Alice accepts.",
  setting: "A conference room, rain on the windows",
  characters: ["alice", "bob", "charlie"],
  initialSpeaker: "alice",
  maxBeats: 20,
  speech: true,
};
const TRAIN = { name: "the-last-train", prompt: "Jonas has missed the last train.", characters: ["mara", "jonas"], initialSpeaker: "mara", maxBeats: 3 };
const STRANGE = "<img src=x onerror=alert(1)> [a](javascript:alert(1)) \u202Eturned\u0007 שלום";

let server;
let id;
let lines;
before(async () => {
  server = await Server.start();
  id = (await server.api("POST", "/v1/scenes", APOLOGY)).sessionId;
  ({ lines } = await server.ended(id));
});
after(async () => {
  await closeBrowser();
  await server.stop();
});

const slider = (page) => page.getByRole("slider", { name: "Moment of the replay" });
const current = (page) => page.locator("[data-line].current");

/** Waits until a line is the moment's, counted from 1. */
async function at(page, line) {
  await page.locator(`[data-line="${line}"].current`).waitFor();
  assert.equal(await slider(page).getAttribute("aria-valuenow"), String(line));
}

async function watched(path = `/replay/${id}`, options) {
  const page = await open(server, path, options);
  // The journal comes in pieces: what has ended is there whole with its last one.
  await page.locator("[data-told=whole] [data-rendered=all]").waitFor();
  return page;
}

/** The journal of a session, all of its records. */
async function journal(id) {
  const text = await (await server.ask("GET", `/v1/sessions/${id}/events`)).text();
  return text.split("\n").flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []));
}

const forkOf = async (id) => (await journal(id)).find(({ type }) => type === "forked");

test("every line has its tick, in the hue of who said it, and its place in the script", async () => {
  const page = await watched();
  await at(page, 1);
  assert.equal(await slider(page).getAttribute("aria-valuemax"), String(lines.length));
  const ticks = await page.locator(".scrubber svg.done path").evaluateAll((paths) => paths.map((path) => path.getAttribute("d").split("M").length - 1));
  const speakers = new Set(lines.map(({ speaker }) => speaker));
  assert.equal(ticks.reduce((sum, one) => sum + one, 0), lines.length);
  assert.equal(ticks.length, speakers.size, "a hue for each of them");
  assert.deepEqual(
    await page.locator("[data-line]").evaluateAll((all) => all.map((one) => Number(one.dataset.line))),
    lines.map((_, at) => at + 1),
  );
  assert.equal(await page.locator(".later[data-line], .later [data-line]").count(), lines.length - 1, "what has not been said yet is pale");
  await shoot(page, "replay-beginning");
  await clean(page);

  // On a phone the lines have all the room, and what is behind them comes when it is asked for.
  const phone = await watched(`/replay/${id}?at=${lines[5].seq}`, { size: PHONE });
  assert.equal(await phone.getByRole("complementary").count(), 0);
  await shoot(phone, "replay-lines");
  await phone.getByRole("button", { name: "Behind this line" }).click();
  await phone.getByRole("complementary").getByText("Persona and rules").waitFor();
  await clean(phone);
});

test("the keys: on, back, first, last, play; and the address carries the moment over a reload", async () => {
  const page = await watched();
  await page.keyboard.press("ArrowRight");
  await at(page, 2);
  await page.keyboard.press("ArrowDown");
  await at(page, 3);
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowUp");
  await at(page, 1);
  await page.keyboard.press("End");
  await at(page, lines.length);
  await page.keyboard.press("Home");
  await at(page, 1);
  for (let step = 1; step < 6; step++) await page.keyboard.press("ArrowRight");
  await at(page, 6);
  await page.waitForURL(/\?at=\d+$/);
  const address = page.url();
  assert.ok(Number(new URL(address).searchParams.get("at")) >= lines[5].seq);
  await page.reload();
  await at(page, 6);

  // A moment that somebody was sent, and the way back.
  await page.goto(`${server.origin}/replay/${id}?at=${lines[9].seq}`);
  await at(page, 10);
  await page.goBack();
  await at(page, 6);
  assert.equal(page.url(), address);

  await slider(page).focus();
  await page.keyboard.press("PageUp");
  await at(page, 16);
  await page.keyboard.press("PageDown");
  await at(page, 6);

  await page.locator("body").press("Space");
  await page.getByRole("button", { name: "Pause" }).waitFor();
  await at(page, 7);
  await page.locator("body").press("Space");
  await page.getByRole("button", { name: "Play" }).waitFor();
  await page.getByRole("button", { name: /^Speed/ }).click();
  await page.getByRole("button", { name: "Speed: 2×. Change it" }).waitFor();
  await clean(page);
});

test("everything is reached with the Tab key", async () => {
  const page = await watched();
  await page.getByRole("complementary").locator(".sent").first().waitFor();
  const reached = new Set();
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => {
      const { activeElement: element } = document;
      return element.ariaLabel ?? (element.labels?.[0] ?? element).textContent.trim();
    }));
  }
  for (const name of ["Polylogue", "Sessions", "Night", "Its own view", "txt", "Side by side", "Close", "Request", "Edit", "For whom the note is", "Note", "Whose model and persona", "Model", "Persona", "Go on from here", "Play", "Speed: 1×. Change it", "Moment of the replay", "Keys"]) {
    assert.ok(reached.has(name), `${name} is not among ${[...reached].join(" | ").slice(0, 900)}`);
  }
  await clean(page);
});

test("the scrubber is dragged, a line is clicked", async () => {
  const page = await watched();
  const box = await slider(page).boundingBox();
  const over = (line) => [box.x + ((line - 0.5) / lines.length) * box.width, box.y + box.height / 2];
  await page.mouse.click(...over(12));
  await at(page, 12);
  await page.mouse.move(...over(12));
  await page.mouse.down();
  await page.mouse.move(...over(15));
  await at(page, 15);
  await page.mouse.move(...over(4));
  await at(page, 4);
  await page.mouse.up();
  await page.mouse.move(...over(9));
  await at(page, 4);
  await page.locator('[data-line="2"] .text').click();
  await at(page, 2);
  await clean(page);
});

test("a line that is cut is begun, and then ends with its dash: nobody reads what was never heard", async () => {
  const page = await watched(`/replay/${id}?at=${lines[0].seq}`);
  const bob = page.locator('[data-line="2"]');
  const hidden = async () => assert.equal(await page.getByText("another nine days").count(), 0);
  assert.match(await bob.innerText(), /Look, I can explain—\s*$/, "what comes later is known");
  await hidden();
  await page.keyboard.press("ArrowRight");
  await at(page, 2);
  assert.match(await bob.innerText(), /Look …\s*$/);
  assert.match(await slider(page).getAttribute("aria-valuetext"), /Look …$/);
  assert.equal(await page.locator(".cutting").count(), 0);
  await shoot(page, "replay-being-said");
  await page.keyboard.press("ArrowRight");
  await page.locator('[data-line="2"]', { hasText: /Look, I can explain—\s*$/ }).waitFor();
  assert.equal(await page.locator('[data-line="3"] .cutting').count(), 1);
  await shoot(page, "replay-cut");
  await clean(page);
});

test("the exact request and the raw reply, side by side", async () => {
  const line = lines[5];
  const behind = await server.api("GET", `/v1/sessions/${id}/behind/${line.seq}`);
  const page = await watched(`/replay/${id}?at=${line.seq}`);
  const panel = page.getByRole("complementary");
  await panel.getByRole("tab", { name: "Request" }).waitFor();
  await panel.locator(".sent").first().waitFor();
  await shoot(page, "replay-behind");

  await page.keyboard.press("i");
  const request = panel.getByRole("region", { name: "Request" });
  const reply = panel.getByRole("region", { name: "Reply" });
  await reply.locator("pre").waitFor();
  assert.equal(await reply.locator("pre").textContent(), behind.reply);
  const sent = await request.locator(".sent").allTextContents();
  assert.deepEqual(sent.slice(0, behind.request.messages.length), behind.request.messages.map(({ text }) => text));
  const [left, right] = [await request.boundingBox(), await reply.boundingBox()];
  assert.ok(left.x + left.width <= right.x && Math.abs(left.y - right.y) < 2, "they stand side by side");
  assert.ok((await panel.innerText()).includes(`${(behind.usage.input + behind.usage.output).toLocaleString("en")} tokens`));
  await shoot(page, "replay-side-by-side");

  // By the keyboard: from tab to tab, and out.
  await panel.getByRole("tab", { name: "Request and reply" }).focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await panel.getByRole("tab", { name: "Why?" }).getAttribute("aria-selected"), "true");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Escape");
  assert.equal(await request.count(), 0);
  await page.keyboard.press("Escape");
  assert.equal(await panel.count(), 0);
  await page.getByRole("button", { name: "Behind this line" }).click();
  await panel.waitFor();
  await page.locator("body").press("?");
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  await shoot(page, "replay-keys");
  await page.keyboard.press("Escape");
  assert.equal(await page.getByRole("heading", { name: "Keys" }).count(), 0);

  // What no model was asked for is said so.
  const event = lines.findIndex(({ kind }) => kind === "event");
  await page.locator(`[data-line="${event + 1}"]`).click();
  await panel.getByText("No model was asked for this line").waitFor();
  await clean(page);
});

test("what it has cost so far is what the journal has charged by then", async () => {
  const { costs } = await server.session(id);
  const page = await watched();
  const status = page.locator("header .status");
  await page.keyboard.press("End");
  const shown = costs.estimatedUSD < 1 ? costs.estimatedUSD.toFixed(3) : costs.estimatedUSD.toFixed(2);
  await status.filter({ hasText: `replay · 13 beats · $${shown} so far` }).waitFor();
  await page.keyboard.press("Home");
  await status.filter({ hasText: "replay · beat 1 of 20 ·" }).waitFor();
  const first = Number((await status.innerText()).match(/\$([\d.]+)/)[1]);
  assert.ok(first > 0 && first < costs.estimatedUSD / 2, `${first} of ${costs.estimatedUSD}`);
  await clean(page);
});

test("why: the agent is asked outside of the session", async () => {
  const page = await watched(`/replay/${id}?at=${lines[2].seq}`);
  const panel = page.getByRole("complementary");
  await panel.getByRole("tab", { name: "Why?" }).click();
  await panel.getByRole("button", { name: "Ask" }).click();
  await panel.getByText("Because I had heard it from Henderson, and wanted to hear it from him.").waitFor();
  await shoot(page, "replay-why");
  await panel.getByRole("textbox", { name: "Question" }).fill("What did you mean by the dates?");
  await page.keyboard.press("Enter");
  await panel.getByText("I meant the calendar.").waitFor();
  assert.equal(await page.locator("main img, main a[href^='javascript']").count(), 0);
  assert.equal((await server.session(id)).lines.length, lines.length, "the session stays as it is");

  await panel.getByRole("link", { name: "Its own replay" }).click();
  await page.getByRole("heading", { name: "What did you mean by the dates?" }).waitFor();
  await at(page, 1);
  await page.keyboard.press("End");
  await page.getByText("I meant the calendar.").waitFor();
  await shoot(page, "replay-interview");

  // Where no answer comes, it is said why.
  const charlie = lines.findIndex(({ speaker }) => speaker === "charlie");
  await page.goto(`${server.origin}/replay/${id}?at=${lines[charlie].seq}`);
  await panel.getByRole("tab", { name: "Why?" }).click();
  await panel.getByRole("button", { name: "Ask" }).click();
  await panel.getByRole("alert").filter({ hasText: "I would rather not talk about it" }).waitFor();
  await clean(page);
});

test("fork with other words: it goes on from them, and the session stays as it is", async () => {
  const page = await watched();
  await page.keyboard.press("f");
  const edit = page.getByLabel("Edit");
  assert.ok(await edit.evaluate((field) => field === document.activeElement), "the key leads into the form");
  await edit.fill("Let us try another opening.");
  await shoot(page, "replay-fork");
  await page.getByRole("button", { name: "Go on from here" }).click();
  await page.waitForURL((url) => url.pathname.startsWith("/scene/") && !url.pathname.includes(id));
  const fork = new URL(page.url()).pathname.split("/")[2];
  await page.locator("[data-line]", { hasText: "Let us try another opening." }).waitFor();
  await page.getByText("That is another opening, so here is another answer.").waitFor();
  const record = await forkOf(fork);
  assert.equal(record.from, id);
  assert.equal(record.change.edit, "Let us try another opening.");
  assert.equal((await server.session(fork)).lines[0].text, "Let us try another opening.");
  assert.deepEqual((await server.session(id)).lines, lines);
  await server.api("POST", `/v1/sessions/${fork}/stop`, {});

  await page.goto(`${server.origin}/replay/${fork}`);
  await page.getByRole("link", { name: "forked from another session" }).click();
  await page.waitForURL((url) => url.pathname === `/replay/${id}`);
  await clean(page);
});

test("fork with a note and another persona", async () => {
  const page = await watched();
  await page.getByLabel("For whom the note is").selectOption({ label: "to Bob" });
  await page.getByLabel("Note", { exact: true }).fill("Say it plainly.");
  await page.getByLabel("Whose model and persona").selectOption({ label: "of Charlie" });
  const persona = page.getByRole("textbox", { name: "Persona" });
  assert.match(await persona.inputValue(), /^# Charlie - Team Lead/);
  await persona.fill("# Charlie\nHas had enough.");
  await page.getByRole("button", { name: "Go on from here" }).click();
  await page.waitForURL((url) => url.pathname.startsWith("/scene/") && !url.pathname.includes(id));
  const fork = new URL(page.url()).pathname.split("/")[2];
  await page.getByText("Plainly, then: I knew it on the third.").waitFor();
  const { change } = await forkOf(fork);
  assert.deepEqual(change.notes, [{ to: "bob", text: "Say it plainly." }]);
  assert.deepEqual(change.personas, { charlie: "# Charlie\nHas had enough." });
  assert.equal(change.edit, undefined);
  await server.api("POST", `/v1/sessions/${fork}/stop`, {});

  // Its own replay has the new persona where one would change it again.
  await page.goto(`${server.origin}/replay/${fork}?at=end`);
  await page.getByLabel("Whose model and persona").selectOption({ label: "of Charlie" });
  assert.equal(await page.getByRole("textbox", { name: "Persona" }).inputValue(), "# Charlie\nHas had enough.");
  await clean(page);
});

test("fork with another model; a refusal is said in the form, and what was filled in stays", async () => {
  const page = await open(server, "/");
  page.mayLoseConnection = true;
  const known = [{ name: "local/smollm2", available: true }, { name: "openai/gpt-5.2", available: false }];
  await page.route("**/v1/models", (route) => route.fulfill({ json: { models: known } }));
  await page.goto(`${server.origin}/replay/${id}?at=${lines[4].seq}`);
  let asked;
  await page.route("**/fork", (route) => {
    asked = route.request().postDataJSON();
    return route.fulfill({ status: 400, json: { success: false, error: { code: "INVALID_CONFIG", message: "the model is not there any more" } } });
  });
  await page.getByLabel("Whose model and persona").selectOption({ label: "of Bob" });
  await page.getByLabel("Model", { exact: true }).selectOption("local/smollm2");
  await page.getByRole("button", { name: "Go on from here" }).click();
  await page.getByRole("alert").filter({ hasText: "The model is not there any more." }).waitFor();
  assert.deepEqual(asked, { at: lines[4].seq, notes: [], personas: {}, models: { bob: "local/smollm2" } });
  assert.equal(await page.getByLabel("Model", { exact: true }).inputValue(), "local/smollm2");
  await shoot(page, "replay-fork-refused");

  // The server refuses too: it knows where there is nothing left to go on with.
  await page.unroute("**/fork");
  await slider(page).focus();
  await page.keyboard.press("End");
  await page.getByRole("button", { name: "Go on from here" }).click();
  await page.getByRole("alert").filter({ hasText: "complete" }).waitFor();
  await clean(page);
});

test("a clip is marked where there is one, and is heard while it plays", { skip: !HAS_VOICE && "there is no voice on this machine" }, async () => {
  const page = await watched();
  const spoken = lines.filter(({ audioPath }) => audioPath !== undefined).length;
  assert.ok(spoken > 10);
  assert.equal(await page.locator("[data-line] .mark.ready").count(), spoken);
  const clip = page.waitForResponse(/\/v1\/audio\//);
  await page.locator("body").press("Space");
  assert.ok((await clip).ok());
  await page.locator('[data-line="1"] .mark.heard').waitFor();
  await shoot(page, "replay-playing");
  await page.locator("body").press("Space");
  assert.equal(await page.locator(".mark.heard").count(), 0);
  for (const as of ["txt", "md", "json", "vtt"]) {
    assert.equal((await server.ask("GET", await page.getByRole("link", { name: as, exact: true }).getAttribute("href"))).status, 200);
  }
  await clean(page);
});

test("one that failed in part says so; nothing that is said acts", async () => {
  const { sessionId } = await server.api("POST", "/v1/scenes", { ...TRAIN, name: STRANGE });
  const { lines } = await server.ended(sessionId);
  const page = await watched(`/replay/${sessionId}`);
  page.on("dialog", (dialog) => page.errors.push(`a dialog: ${dialog.message()}`));
  const failed = lines.findIndex(({ kind }) => kind === "system");
  await page.locator(`[data-line="${failed + 1}"]`, { hasText: "Jonas unable to respond" }).waitFor();
  for (let line = 1; line <= lines.length; line++) {
    await at(page, line);
    await page.keyboard.press("ArrowRight");
  }
  await page.keyboard.press("Home");
  await page.getByRole("complementary").locator(".sent").first().waitFor();
  await page.keyboard.press("i");
  await page.getByRole("region", { name: "Reply" }).locator("pre", { hasText: "<img src=x" }).waitFor();
  assert.match(await page.getByLabel("Edit").inputValue(), /turned around$/, "nor in what can be edited");
  assert.equal(await page.locator("main img, main b, main [onerror], main a[href^='javascript']").count(), 0);
  const shown = (await page.locator("body").innerText()) + (await page.title());
  assert.ok(!/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/.test(shown), "nothing turns the text around");
  await shoot(page, "replay-strange");
  await clean(page);
});

test("one that still runs is followed, reloaded and cut off in the middle, to its end", async () => {
  const { sessionId } = await server.api("POST", "/v1/scenes", { ...APOLOGY, speech: false });
  const page = await open(server, `/replay/${sessionId}`);
  page.mayLoseConnection = true;
  await page.locator('[data-line="2"]').waitFor();
  await page.getByText("The session goes on.").waitFor();
  await shoot(page, "replay-running", { still: server });
  await page.getByRole("button", { name: "Follow it" }).click();
  await page.waitForURL(/at=end/);
  await page.getByText("new lines appear here").waitFor();
  await page.reload();
  await page.waitForFunction(() => Number(document.querySelector("[data-line].current")?.dataset.line) >= 6);
  await server.kill();
  await page.getByText("Reconnecting").waitFor();
  await shoot(page, "replay-reconnecting");
  await server.run();
  const { lines } = await server.ended(sessionId);
  await at(page, lines.length);
  assert.equal(await page.getByText("The session goes on").count(), 0);
  await page.locator("[data-rendered=all]").waitFor();
  assert.equal(await page.locator("[data-line]").count(), lines.length);
  const flat = (text) => text.replace(/[\s*_`]+/g, " ").trim();
  for (const [place, { text, cutAfter }] of lines.entries()) {
    const shown = flat(await page.locator(`[data-line="${place + 1}"]`).innerText());
    assert.ok(shown.includes(flat(cutAfter ?? text).slice(-20)), `line ${place + 1}: ${shown}`);
  }
  await clean(page);
});

test("one that is not there, one in which nobody has spoken, and an address that is none", async () => {
  const page = await open(server, "/");
  page.mayLoseConnection = true;
  await page.goto(`${server.origin}/replay/00000000-0000-4000-8000-000000000000`);
  await page.getByRole("heading", { name: "There is no such session." }).waitFor();
  await page.getByRole("main").getByRole("link", { name: "Sessions" }).waitFor();
  await shoot(page, "replay-nowhere");
  await page.goto(`${server.origin}/replay/no-session-at-all`);
  await page.getByRole("main").getByRole("heading").waitFor();

  const { sessionId } = await server.api("POST", "/v1/scenes", { ...TRAIN, initialSpeaker: "jonas" });
  await server.api("POST", `/v1/sessions/${sessionId}/stop`, {});
  await page.goto(`${server.origin}/replay/${sessionId}`);
  await page.getByText("It ended before anybody said anything.").waitFor();
  await shoot(page, "replay-empty");
  await page.goto(`${server.origin}/replay/${id}?at=99999`);
  await at(page, lines.length);
  await clean(page);
});

for (const [format, begin] of Object.entries({
  chorus: async () => {
    const answer = await server.ask("POST", "/v1/chat", { message: "What is a home?", speech: false });
    return (await answer.text()).match(/"sessionId":"([^"]+)"/)[1];
  },
  collaboration: async () => {
    const { sessionId } = await server.api("POST", "/v1/rooms/replayed/messages", { text: "Tell of a cloud and a well.", mode: "collaborate", maxRounds: 4 });
    return sessionId;
  },
  discussion: async () => {
    const participants = [{ role: "user" }, { role: "specialist", agent: "banker" }];
    const { project } = await server.api("POST", "/api/discussions", { title: "The roof", participants });
    await server.api("POST", `/v1/sessions/${project.id}/say`, { text: "It leaks over the stairs." });
    return project.id;
  },
})) {
  test(`a ${format} is replayed too, and leads back to its own view`, async () => {
    const id = await begin();
    if (format !== "discussion") await server.ended(id);
    const page = await open(server, `/replay/${id}`);
    await page.locator("[data-rendered=all]").waitFor();
    if (format === "discussion") await page.locator("[data-line]").nth(1).waitFor();
    const { lines } = await server.session(id);
    await page.keyboard.press("End");
    await at(page, lines.length);
    assert.equal(await page.locator("[data-line]").count(), lines.length);
    await shoot(page, `replay-${format}`);
    await page.getByRole("link", { name: /Its own view|Watch it live/ }).click();
    await page.waitForURL((url) => !url.pathname.startsWith("/replay"));
    await page.getByText(lines.at(-1).text.slice(0, 30)).last().waitFor();
    await clean(page);
  });
}
