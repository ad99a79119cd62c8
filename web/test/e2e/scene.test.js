// Scenes in the page: chosen, written, watched, directed, stopped, gone on with, and the same as their journal.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { clean, closeBrowser, open, Server, shoot } from "./harness.js";

let server;
before(async () => (server = await Server.start()));
after(async () => {
  await closeBrowser();
  await server.stop();
});

const APOLOGY = {
  name: "the-apology",
  prompt: "Alice confronts Bob about Henderson. Charlie is there.\nScene goal: Bob apologizes, Alice accepts.",
  setting: "A conference room, rain on the windows",
  characters: ["alice", "bob", "charlie"],
  initialSpeaker: "alice",
  maxBeats: 20,
};
const TRAIN = { name: "the-last-train", prompt: "Jonas has missed the last train.", characters: ["mara", "jonas"], initialSpeaker: "mara", maxBeats: 3 };

async function begun(file) {
  return (await server.api("POST", "/v1/scenes", file)).sessionId;
}

function idOf(page) {
  return new URL(page.url()).pathname.split("/").pop();
}

async function over(page) {
  await page.locator(".ending .why").waitFor({ timeout: 60_000 });
}

/** What the page shows is what the journal says: every line, in its order, with its speaker. */
async function sameAsJournal(page, id) {
  const { lines } = await server.session(id);
  const shown = await page.locator("[data-line]").evaluateAll((items) =>
    items.map((item) => ({ id: Number(item.dataset.line), name: item.querySelector(".name")?.textContent, text: item.textContent })),
  );
  const spoken = lines.map((line, at) => ({ ...line, id: at + 1 })).filter((line) => line.kind !== "system");
  assert.deepEqual(shown.map(({ id }) => id), spoken.map(({ id }) => id));
  const flat = (text) => text.replace(/[\u202a-\u202e]/g, "").replace(/[\s*_`]+/g, " ").trim();
  for (const [at, line] of spoken.entries()) {
    const cut = line.cut ?? line.cutAfter;
    const text = flat(typeof cut === "string" ? cut : (cut?.after ?? line.text));
    assert.ok(flat(shown[at].text).includes(text.slice(0, 20)), `line ${line.id}: ${shown[at].text} is not ${text}`);
  }
  return lines;
}

/** The rail says what the server's own figures say. */
async function sameAsReport(page, id) {
  const report = await server.api("GET", `/v1/sessions/${id}/scene`);
  for (const [name, { word }] of Object.entries(report.moods)) {
    assert.equal((await page.locator(`[data-mood="${name}"] .word`).textContent()).trim(), word, `the mood of ${name}`);
  }
  for (const { between, value, word } of report.relationships) {
    const shown = await page.locator(`[data-between="${between.join("/")}"]`).textContent();
    const number = value < 0 ? `−${-value}` : value > 0 ? `+${value}` : "0";
    assert.ok(shown.includes(`${word} ${number}`), `${shown} is not ${word} ${number}`);
  }
  for (const [name, { totalTokens }] of Object.entries(report.costs.byCharacter)) {
    const shown = await page.locator(`[data-cost="${name}"]`).textContent();
    assert.ok(shown.includes(totalTokens.toLocaleString("en")), `${name}: ${shown} is not ${totalTokens}`);
  }
  const progress = report.dynamics.findLast((beat) => beat.progress !== null).progress;
  const words = await page.locator("[data-shows=progress]").textContent();
  assert.ok(words.startsWith(`${progress} % · beat ${report.totalBeats} of`), words);
  return report;
}

test("a scene is chosen, played, reloaded in the middle, and is what its journal says", async () => {
  const page = await open(server, "/scene");
  await page.getByText("Mara", { exact: false }).first().waitFor();
  await shoot(page, "scene-begin");
  await page.getByRole("button", { name: "Take The Apology" }).click();
  await page.waitForFunction(() => document.querySelector("input.field")?.value === "the-apology");
  await shoot(page, "scene-draft");
  await page.getByRole("button", { name: "Begin the scene" }).click();
  await page.waitForURL(/\/scene\/.+/);
  const id = idOf(page);
  await page.locator("[data-line='3']").waitFor();
  await shoot(page, "scene-live", { still: server });
  await page.reload();
  await over(page);
  assert.match(await page.locator(".ending .why").textContent(), /goal is reached, after 13 beats/);
  const lines = await sameAsJournal(page, id);
  assert.equal(lines.length, 22);
  await sameAsReport(page, id);
  assert.equal(await page.locator(".cutting").count(), 1, "an interruption is tucked under what it cuts");
  assert.match(await page.locator("[data-line='2']").textContent(), /Look, I can explain—\s*$/);
  await shoot(page, "scene-ended");
  assert.equal(await page.getByText("Charlie is silent").count(), 0);
  await page.getByLabel("Silent acts").check();
  await page.getByText("Charlie is silent, turns his pen over and over", { exact: false }).waitFor();
  await shoot(page, "scene-silences");
  for (const [label, as] of [["Transcript", "txt"], ["Markdown", "md"], ["Data", "json"], ["Subtitles", "vtt"]]) {
    const link = page.getByRole("link", { name: label });
    assert.equal(await link.getAttribute("download"), `The Apology.${as}`);
    assert.equal((await server.ask("GET", await link.getAttribute("href"))).status, 200);
  }
  assert.equal(await page.getByRole("link", { name: "Replay" }).getAttribute("href"), `/replay/${id}`);
  await clean(page);
});

test("a line that is cut off is begun, and nobody ever reads the rest of it", async () => {
  const id = await begun(APOLOGY);
  const page = await open(server, `/scene/${id}`);
  await page.evaluate(() => {
    globalThis.seen = { rest: false, open: [] };
    const look = () => {
      const { textContent } = document.querySelector("main");
      seen.rest ||= textContent.includes("The specs came in");
      for (const [words] of textContent.matchAll(/\S+ …/g)) if (!seen.open.includes(words)) seen.open.push(words);
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
    look();
  });
  await page.locator("[data-line='2']", { hasText: "Look …" }).waitFor();
  await shoot(page, "scene-being-said", { still: server });
  await page.locator("[data-line='3'] .cutting").waitFor();
  assert.match(await page.locator("[data-line='2']").textContent(), /Look, I can explain—\s*$/);
  await shoot(page, "scene-cut", { still: server });
  await over(page);
  const { rest, open: begins } = await page.evaluate(() => seen);
  assert.equal(rest, false, "what was never heard was shown");
  for (const words of ["Look …", "I …"]) assert.ok(begins.includes(words), `${words} is not among ${begins}`);
  // All is settled at the end, the last line included.
  assert.ok(!(await page.locator("main").textContent()).includes(" …"));
  await sameAsJournal(page, id);
  await clean(page);
});

test("what is wrong with a scene is said where it is", async () => {
  const page = await open(server, "/scene");
  page.mayLoseConnection = true; // The browser tells of every refusal.
  await page.getByRole("button", { name: "Begin the scene" }).click();
  await page.getByText("Scene name is required.").waitFor();
  await page.getByText("Scene prompt is required.").waitFor();
  await page.getByText("A scene has 2 to 5 characters, not 0.").waitFor();
  await shoot(page, "scene-refused");

  await page.getByRole("button", { name: "Paste a scene file" }).click();
  const pasted = page.getByLabel("Scene file, in JSON");
  await pasted.fill("name: the-apology");
  await page.getByRole("button", { name: "Fill the fields with it" }).click();
  await page.getByText("This is not JSON.", { exact: false }).waitFor();
  await shoot(page, "scene-pasted");
  await pasted.fill(JSON.stringify({ ...APOLOGY, characters: ["alice", "nobody"], events: "off" }));
  await page.getByRole("button", { name: "Fill the fields with it" }).click();
  await page.getByText("Also from the file: events.").waitFor();
  await page.getByRole("button", { name: "Begin the scene" }).click();
  await page.getByText("There is no such character in the house.", { exact: false }).waitFor();
  await page.getByLabel(/Who nobody is/).fill("# Nobody\nSays nothing.");
  await page.getByRole("button", { name: "Begin the scene" }).click();
  await page.waitForURL(/\/scene\/.+/);
  await page.getByRole("button", { name: "Stop" }).click();
  await over(page);
  await clean(page);

  const nowhere = await open(server, "/scene/00000000-0000-4000-8000-000000000000");
  nowhere.mayLoseConnection = true;
  await nowhere.getByText("This scene cannot be shown.").waitFor();
  await shoot(nowhere, "scene-nowhere");
  nowhere.errors.length = 0;
  await clean(nowhere);
});

test("a server that is restarted in the middle loses nothing", async () => {
  const id = await begun(APOLOGY);
  const page = await open(server, `/scene/${id}`);
  page.mayLoseConnection = true;
  await page.locator("[data-line='4']").waitFor();
  await server.kill();
  await page.getByText("Reconnecting.", { exact: false }).waitFor();
  await shoot(page, "scene-reconnecting");
  await server.run();
  await over(page);
  await sameAsJournal(page, id);
  await sameAsReport(page, id);
  await clean(page);
});

test("text is inert, failures are said, and more beats can be played, and stopped", async () => {
  const id = await begun({ ...TRAIN, name: "<img src=x onerror=alert(1)> \u202Elast\u0007 train" });
  const page = await open(server, `/scene/${id}`);
  page.on("dialog", (dialog) => page.errors.push(`a dialog: ${dialog.message()}`));
  await over(page);
  assert.match(await page.locator(".ending .why").textContent(), /All 3 beats are played/);
  await sameAsJournal(page, id);
  await sameAsReport(page, id);
  assert.equal(await page.locator("main img, main a[href^='javascript']").count(), 0);
  const first = await page.locator("[data-line='1']").textContent();
  assert.ok(first.includes("<img src=x onerror=alert(1)>") && first.includes("<b>locks</b>") && !first.includes("\u202e"), first);
  const all = (await page.locator("body").innerText()) + (await page.title());
  assert.ok(!/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/.test(all), "nothing turns the text around");
  await page.getByText("Jonas unable to respond", { exact: false }).waitFor();
  await page.getByText("Beat 3 was not judged", { exact: false }).waitFor();
  await shoot(page, "scene-failed-in-part");
  await page.getByLabel("More beats").fill("2");
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("are thinking", { exact: false }).waitFor();
  await page.locator("[data-shows=progress]", { hasText: "beat 4 of 5" }).waitFor();
  await shoot(page, "scene-thinking", { still: server });
  await page.getByRole("button", { name: "Stop" }).click();
  await over(page);
  assert.match(await page.locator(".ending .why").textContent(), /^Stopped after/);
  await shoot(page, "scene-stopped");
  await clean(page);
});

test("a person directs: a note to one, and something in the world", async () => {
  const id = await begun(APOLOGY);
  const page = await open(server, `/scene/${id}`);
  await page.locator("[data-line='1']").waitFor();
  await page.getByRole("radio", { name: "Bob" }).check({ force: true });
  await page.getByLabel("A note to Bob").fill("Say it plainly.");
  await page.keyboard.press("Enter");
  await page.getByText("Your note to Bob: Say it plainly.").waitFor();
  await page.getByRole("radio", { name: "The world" }).check({ force: true });
  await page.getByLabel("What happens in the world").fill("The lights go out");
  await page.getByRole("button", { name: "Let it happen" }).click();
  await page.locator("[data-line]", { hasText: "The lights go out" }).waitFor();
  await shoot(page, "scene-directed", { still: server });
  await over(page);
  await sameAsJournal(page, id);
  await clean(page);
});
