// A score through the page: chosen, cast, counted, played, spoken in, gone on with, replayed, forked, and written.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { clean, closeBrowser, open, PHONE, Server, shoot } from "./harness.js";

let server;
before(async () => (server = await Server.start({ config: "score.toml" })));
after(async () => {
  await closeBrowser();
  await server.stop();
});

const MEMBERS = ["gpt", "claude", "gemini-2.5-pro"];
const idOf = (page) => new URL(page.url()).pathname.split("/")[2];
const phase = (page, name) => page.getByRole("region", { name });
const turn = (page, name, seat) => phase(page, name).locator(`[data-seat="${seat}"]`);
const bound = (page) => page.locator(".start .bound:not(.old)");
const play = async (name, body) => (await server.api("POST", `/v1/scores/${name}`, body)).sessionId;

/** The page shows what the journal has, in its order within each phase. */
async function likeTheJournal(page, id) {
  const { lines } = await server.session(id);
  const said = lines.filter(({ kind }) => kind === "message" || kind === "user").map(({ text }) => text).slice(1).sort();
  assert.deepEqual((await page.locator("[role=log] .text .words").allInnerTexts()).sort(), said);
}

test("one is chosen, cast within its seats, set and counted, by hand and by keyboard", async () => {
  const page = await open(server, "/score");
  await page.getByRole("radio", { name: "Council" }).waitFor();
  assert.equal(await page.getByRole("radio").count(), 10);
  assert.ok(await page.getByRole("radio", { name: "Council" }).isChecked());
  await bound(page).getByText("At most 7 turns, 14 asks").waitFor();
  const council = await bound(page).innerText();
  await shoot(page, "score-begin");

  // What it can come to follows the cast.
  await page.getByRole("button", { name: "One more seat for member" }).click();
  await bound(page).getByText("At most 9 turns, 18 asks").waitFor();
  await page.getByRole("button", { name: "Take away: Member, seat 4" }).click();
  await bound(page).getByText("At most 7 turns, 14 asks").waitFor();
  assert.equal(await bound(page).innerText(), council);
  await page.getByRole("button", { name: "Take away: Member, seat 3" }).click();
  await bound(page).getByText("At most 5 turns, 10 asks").waitFor();
  assert.equal(await page.getByRole("button", { name: /^Take away: Member/ }).count(), 0, "two is the least");

  // The house's own, with a person's seat and settings of every type.
  await page.getByRole("radio", { name: /^Supper/ }).focus();
  await page.keyboard.press("Space");
  await page.waitForURL(/of=supper/);
  await page.getByLabel("Name: Guest").fill("Nora");
  await page.getByRole("spinbutton", { name: "Rounds" }).fill("1");
  await page.getByRole("checkbox", { name: "Loud" }).check();
  await page.getByRole("textbox", { name: "Tone" }).fill("warm");
  await bound(page).getByText("At most 5 turns").waitFor();
  await page.getByText("1 round at most").waitFor();
  await shoot(page, "score-begin-supper");
  await page.getByRole("button", { name: "Play it" }).click();
  await page.getByText("It needs a message").waitFor();
  await page.getByLabel("What it is about").fill("Supper on a Thursday.");
  await page.getByRole("button", { name: "Play it" }).click();
  await page.waitForURL(/\/score\/[0-9a-f-]{36}$/);
  await page.getByText("It is about: Supper on a Thursday.").waitFor();
  const [started] = await events(idOf(page));
  assert.deepEqual(started.setup.format.values, { rounds: 1, loud: true, tone: "warm" });
  assert.deepEqual(started.setup.format.seats.map(({ name, role }) => [role, name]), [["guest", "Nora"], ["host", "host"], ["cook", "ada"], ["cook", "ben"], ["cook", "cleo"]]);
  await clean(page);
});

async function events(id) {
  await server.api("POST", `/v1/sessions/${id}/stop`, {}).catch(() => undefined);
  const text = await (await server.ask("GET", `/v1/sessions/${id}/events`)).text();
  return text.split("\n").flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []));
}

test("a council: words as they are written, a blind phase, orders as lists, the result", async () => {
  const page = await open(server, "/score");
  await page.getByLabel("What it is about").fill("What is a home?");
  await bound(page).getByText("At most").waitFor();
  await page.getByRole("button", { name: "Play it" }).click();
  await page.waitForURL(/\/score\/[0-9a-f-]{36}$/);
  const id = idOf(page);
  await turn(page, "Answer", "gpt").locator(".writing").waitFor();
  await shoot(page, "score-writing", { still: server });
  // While it is read blind, the others are letters.
  await turn(page, /^Weigh/, "gpt").getByText("reads A and B").waitFor();
  assert.deepEqual(await turn(page, /^Weigh/, "gpt").locator("ol li").allInnerTexts(), ["B", "A"]);
  assert.equal(await page.getByRole("listitem").filter({ has: page.getByText("Weigh") }).last().getAttribute("aria-current"), "step");
  await turn(page, /^Weigh/, "claude").getByText("Asked once more").waitFor();
  await shoot(page, "score-blind", { still: server });
  await page.getByText("All phases are played.").waitFor();
  // Then it is said who was who, as the journal has it.
  const played = (await events(id)).filter(({ decision, turn }) => decision === "played" && turn === 2);
  for (const { seat, reply } of played) {
    const ranked = await turn(page, /^Weigh/, seat).locator("ol li").allInnerTexts();
    const letters = { gpt: ["B", "A"], claude: ["B", "A"], "gemini-2.5-pro": ["A", "B"] }[seat];
    assert.deepEqual(ranked, reply.ranking.map((name, at) => `${name} as ${letters[at]}`), seat);
  }
  await likeTheJournal(page, id);
  const { results } = (await events(id)).find(({ decision }) => decision === "concluded");
  const rows = await page.getByRole("region", { name: "What came out" }).locator("li").allInnerTexts();
  assert.deepEqual(rows, results.ranking.map(({ name, points }) => `${name} ${points} points`));
  await page.reload();
  await page.getByText("All phases are played.").waitFor();
  await likeTheJournal(page, id);
  await shoot(page, "score-complete");
  await clean(page);
});

test("a seat that fails is left out, and why is said", async () => {
  const id = await play("council", { message: "What is a home?", seats: { member: ["gpt", "claude", "gemini-2.5-pro", "mute"] } });
  await server.ended(id);
  const page = await open(server, `/score/${id}`);
  await turn(page, /^Weigh/, "mute").getByText(/Left out: .*the mute would rather not say/).waitFor();
  assert.equal(await turn(page, /^Weigh/, "gpt").locator("ol li").count(), 3);
  await shoot(page, "score-left-out");

  // When too few are left, it has ended; whoever failed is asked again when it goes on.
  const short = await play("council", { message: "What is a home?", seats: { member: ["gpt", "mute"] } });
  await server.ended(short);
  await page.goto(`${server.origin}/score/${short}`);
  await page.getByText("Too few of `member` are left in `weigh`.").waitFor();
  await shoot(page, "score-too-few");
  await page.getByRole("button", { name: "Go on" }).click();
  const failures = async () => (await server.session(short)).errors.length;
  for (let tries = 0; tries < 200 && (await failures()) < 2; tries++) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await failures(), 2, "it was asked again");
  await server.ended(short);
  await page.getByText("Too few of `member` are left in `weigh`.").waitFor();
  assert.equal(await turn(page, /^Weigh/, "mute").getByText(/Left out/).count(), 1);
  await clean(page);
});

test("a person has a seat: what is asked, stopped, killed, resumed, and until they agree", async () => {
  const id = await play("supper", { message: "Supper on a Thursday." });
  const page = await open(server, `/score/${id}`);
  page.mayLoseConnection = true;
  await page.getByText("Your turn", { exact: true }).first().waitFor();
  await page.getByText("It is about: Supper on a Thursday. Say in one sentence what you are hungry for.").waitFor();
  await shoot(page, "score-your-turn");
  const field = page.locator(".composer textarea:enabled");
  await field.fill("Something warm, and soon.");
  await page.getByRole("button", { name: "Say it" }).click();
  await phase(page, /^Propose/).getByText("host chooses ben.").waitFor();
  await phase(page, /^Answer/).getByText("It waits for you.").waitFor();
  await page.getByText("What do you say to that?").waitFor();
  assert.deepEqual(await turn(page, /^Vote/, "cleo").locator("dd b").allInnerTexts(), ["no", "9", "soup"]);
  await turn(page, /^Vote/, "cleo").getByText("A was ben").waitFor();
  await shoot(page, "score-votes");

  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Go on" }).click();
  await field.waitFor();
  await server.kill();
  await page.getByText(/Reconnecting/).waitFor();
  await server.run();
  await field.fill("Not at ten.");
  await page.getByRole("button", { name: "Say it" }).click();
  await page.getByText("round 2 of 2").first().waitFor();
  await phase(page, /^Propose, round 2|^Propose/).last().getByText("host chooses cleo.").waitFor();
  await field.fill("Then soup.");
  await page.getByRole("button", { name: "Say it" }).click();
  await page.getByText("All phases are played.").waitFor();
  await likeTheJournal(page, id);
  const result = page.getByRole("region", { name: "What came out" });
  assert.deepEqual(await result.locator("dd").allInnerTexts(), ["yes", "3", "soup 3"]);
  await shoot(page, "score-supper-complete");
  await clean(page);
});

test("replayed by its phases, with what is behind a line, and forked", async () => {
  const id = await play("council", { message: "What is a home?" });
  await server.ended(id);
  const page = await open(server, `/score/${id}`);
  await page.getByRole("link", { name: "Replay and fork" }).click();
  await page.waitForURL(/\/replay\//);
  const script = page.locator(".script");
  await script.getByRole("heading", { name: "Conclude" }).waitFor();
  assert.deepEqual(await script.getByRole("heading").allInnerTexts().then((all) => all.map((one) => one.toLowerCase())), ["answer", "weigh", "conclude"]);
  const line = script.locator(".place", { hasText: "B could be somebody" });
  assert.equal(await line.locator("ol li").count(), 2);
  await line.locator(".text").click();
  await page.getByRole("tab", { name: "Request" }).waitFor();
  await page.getByText(/Rank these answers/).first().waitFor();
  await page.getByText(/replay · weigh/).waitFor();
  await page.mouse.move(0, 0);
  await shoot(page, "score-replay");
  await script.locator(".place", { hasText: "nothing has to be explained" }).locator(".text").click();
  await page.getByText(/replay · answer/).waitFor();
  await page.getByLabel("Edit").fill("Wherever the kettle is.");
  await page.getByRole("button", { name: "Go on from here" }).click();
  await page.waitForURL((url) => /\/score\/[0-9a-f-]{36}$/.test(url.pathname) && !url.pathname.includes(id));
  await page.getByText("All phases are played.").waitFor();
  await turn(page, /^Answer/, "gpt").getByText("Wherever the kettle is.").waitFor();
  await page.getByText("goes on from").waitFor();
  await likeTheJournal(page, idOf(page));
  await clean(page);
});

test("one is written: what is wrong is beside it with its lines, then what it comes to, and it is played", async () => {
  const page = await open(server, "/score/write");
  const text = page.getByRole("textbox", { name: "The score" });
  await text.waitFor();
  assert.match(await text.inputValue(), /^score: my-score\n/);
  const check = page.locator("#check");
  await check.getByText("Sum up").first().waitFor();
  await page.getByLabel("Begin from").selectOption("delphi");
  assert.match(await text.inputValue(), /^score: my-delphi\n/);
  await check.getByText("Experts estimate alone").waitFor();
  await page.getByRole("button", { name: "Bring back what was there" }).click();
  assert.match(await text.inputValue(), /^score: my-score\n/);

  await text.fill("score: odd\nroles:\n  member: { seats: 2..8 }\nphases:\n  - answer:\n      who: membr\n      promt: Hello.\n");
  await check.getByText("2 problems").waitFor();
  await check.getByText("there is no role `membr`: did you mean `member`?").waitFor();
  await shoot(page, "score-write-wrong");
  await check.getByRole("button", { name: /line 7/ }).click();
  assert.equal(await text.evaluate((field) => field.value.slice(field.selectionStart, field.selectionEnd)), "      promt: Hello.");
  await page.keyboard.type("      prompt: Hello.");
  await check.getByText("1 problem").waitFor();
  await check.getByRole("button", { name: /line 6/ }).click();
  await page.keyboard.type("      who: member");
  await check.getByText("2 turns").waitFor();
  // A new line begins below the one before it.
  await text.evaluate((field) => field.setSelectionRange(field.value.length - 1, field.value.length - 1));
  await page.keyboard.press("Enter");
  await page.keyboard.type("blind: true");
  assert.ok((await text.inputValue()).endsWith("      prompt: Hello.\n      blind: true\n"));
  await page.keyboard.press("Control+z");
  await page.reload();
  await check.getByText("2 turns").waitFor();
  assert.ok((await text.inputValue()).includes("prompt: Hello."), "a reload loses nothing");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download odd.yaml" }).click()]);
  assert.equal(file.suggestedFilename(), "odd.yaml");

  await text.fill((await text.inputValue()).split("\n").filter((line) => !line.includes("blind") && !line.includes("sees")).join("\n"));
  await bound(page).getByText("At most 2 turns").waitFor();
  await page.getByLabel("What it is about").fill("Something odd.");
  await shoot(page, "score-write");
  await page.getByRole("button", { name: "Play it" }).click();
  await page.waitForURL(/\/score\/[0-9a-f-]{36}$/);
  await page.getByText("All phases are played.").waitFor();
  await clean(page);
});

test("where little may be spent and nothing is sent, both are said", async () => {
  const small = await Server.start({ config: "score-limited.toml" });
  try {
    const page = await open(small, "/score?of=debate");
    await page.locator(".bound:not(.old)").getByText(/The limits here are lower: 9,000 tokens and \$0\.05/).waitFor();
    await shoot(page, "score-limited");
    await page.getByRole("link", { name: "Write one of your own from this" }).click();
    await page.getByText("allow_sent = true").waitFor();
    await page.getByText(/At most/).waitFor();
    assert.equal(await page.getByRole("button", { name: "Play it" }).count(), 0);
    await shoot(page, "score-write-kept");
    await clean(page);
  } finally {
    await small.stop();
  }
});

test("words do nothing, whoever they are from; one that is not there is said; a phone has room for all", async () => {
  const id = await play("council", { message: "What can hurt? <img src=x onerror=alert(1)>", seats: { member: MEMBERS.slice(0, 2) } });
  await server.ended(id);
  const page = await open(server, `/score/${id}`, { size: PHONE });
  page.on("dialog", (dialog) => page.errors.push(`a dialog: ${dialog.message()}`));
  await page.locator("[role=log] .text", { hasText: "<img src=x" }).waitFor();
  assert.ok(!/[\u202a-\u202e]/.test(await page.locator("main").innerText()));
  assert.equal(await page.locator("main img, main [href^='javascript'], main [onclick]").count(), 0);
  page.mayLoseConnection = true;
  await page.goto(`${server.origin}/score/00000000-0000-4000-8000-000000000000`);
  await page.getByRole("alert").waitFor();
  await clean(page);
});
