// The page tells a journal as the server does. The page's own fold runs in a browser over the whole journal of a
// session of every format, once all at once and once event by event; what both say at the end is compared with the
// server's result.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";

import { script } from "../bundle.js";
import { clean, closeBrowser, open, Server } from "./harness.js";

let server;
let page;
after(closeBrowser);

const APOLOGY = { name: "the-apology", prompt: "Alice confronts Bob.", characters: ["alice", "bob", "charlie"], initialSpeaker: "alice", maxBeats: 20 };
const TRAIN = { name: "the-last-train", prompt: "Jonas has missed it.", characters: ["mara", "jonas"], initialSpeaker: "mara", maxBeats: 3 };

async function chorus(message) {
  const answer = await server.ask("POST", "/v1/chat", { message });
  return (await answer.text()).match(/"sessionId":"([^"]+)"/)[1];
}

async function scene(file) {
  return (await server.api("POST", "/v1/scenes", file)).sessionId;
}

async function room(text, maxRounds) {
  return (await server.api("POST", "/v1/rooms/folded/messages", { text, mode: "collaborate", maxRounds })).sessionId;
}

async function discussion(rounds) {
  const participants = [{ role: "user" }, { role: "manager", agent: "mason" }, { role: "specialist", agent: "slater" }];
  const { project } = await server.api("POST", "/api/discussions", { title: "The roof", participants, maxRounds: rounds });
  for (let round = 0; round < rounds; round++) {
    await status(project.id, "waiting");
    await server.api("POST", `/v1/sessions/${project.id}/say`, { text: `It leaks, I said it ${round + 1} times.` });
  }
  return project.id;
}

async function score(name, body) {
  return (await server.api("POST", `/v1/scores/${name}`, { message: "What is a home?", ...body })).sessionId;
}

/** A score that waits for a person three times. */
async function supper() {
  const id = await score("supper");
  for (const text of ["Something warm.", "Not at ten.", "Then soup."]) {
    await status(id, "waiting");
    await server.api("POST", `/v1/sessions/${id}/say`, { text, who: "you" });
  }
  return id;
}

async function status(id, wanted) {
  for (let tries = 0; tries < 600; tries++) {
    if ((await server.session(id)).status === wanted) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`session ${id} is not ${wanted}`);
}

async function stopped(id, lines) {
  for (let tries = 0; tries < 600 && (await server.session(id)).lines.length < lines; tries++) await new Promise((resolve) => setTimeout(resolve, 50));
  await server.api("POST", `/v1/sessions/${id}/stop`, {});
  return id;
}

async function resumed(id, body = {}) {
  await server.ended(id);
  // Its last record is there before the server has let go of it.
  for (let tries = 0; tries < 100; tries++) {
    const answer = await server.ask("POST", `/v1/sessions/${id}/resume`, body);
    if (answer.status !== 409) {
      assert.ok(answer.ok, `resume: ${answer.status} ${await answer.text()}`);
      return id;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail("it is running already, for five seconds");
}

async function forked(id, change) {
  const { lines } = await server.ended(id);
  return (await server.api("POST", `/v1/sessions/${id}/fork`, { at: lines[1].seq, ...change })).sessionId;
}

async function why(id) {
  const { lines } = await server.ended(id);
  return (await server.api("POST", `/v1/sessions/${id}/why`, { seq: lines.at(-2).seq })).sessionId;
}

/** What the server says of a session, as far as the page says it too. */
function told({ lines, costs, reason, title, forkedFrom, errors }) {
  return {
    title,
    reason: reason ?? undefined,
    forkedFrom: forkedFrom && { id: forkedFrom.sessionId, seq: forkedFrom.seq },
    lines: lines.map(({ seq, speaker, kind, text, to, tone, nonverbal, interruptsAfter, cutAfter, audioPath }) => ({
      seq, speaker, kind, text, to, tone, nonverbal: nonverbal ?? [], interruptsAfter, cutAfter, audioPath,
    })),
    tokens: costs.totalTokens,
    cost: costs.estimatedUSD,
    accounts: Object.fromEntries(
      Object.entries(costs.byAgent).map(([name, one]) => [name, { calls: one.calls, tokens: one.totalTokens, cached: one.cachedTokens, cost: one.estimatedUSD }]),
    ),
    failures: errors.map(({ seq, agent, message }) => ({ seq, agent, message })),
  };
}

/** The same of the page's fold; also that it is the same however the events arrive. */
function fold(entries) {
  const { tell } = globalThis.folded;
  const story = tell(entries);
  let grown;
  for (const entry of entries) grown = tell([entry], grown);
  const usd = (cost) => (cost === null ? null : cost / 1e12);
  const plain = (story) => ({
    title: story.title,
    reason: story.ended?.reason,
    forkedFrom: story.forkedFrom,
    lines: story.lines.map((line) => ({
      seq: line.seq,
      speaker: line.speaker.name,
      kind: line.kind,
      text: line.text,
      to: line.to,
      tone: line.tone,
      nonverbal: line.nonverbal,
      interruptsAfter: line.interruptsAfter,
      cutAfter: line.cut?.after,
      audioPath: line.sound.is === "made" ? line.sound.clip.path : undefined,
    })),
    tokens: story.total.tokens,
    cost: usd(story.total.cost),
    accounts: Object.fromEntries([...story.accounts].map(([name, { calls, tokens, cached, cost }]) => [name, { calls, tokens, cached, cost: usd(cost) }])),
    failures: story.failures.map(({ seq, ask, message }) => ({ seq, agent: ask.agent, message })),
  });
  return { story: plain(story), grown: plain(grown), open: story.open.length };
}

const defined = (value) => JSON.parse(JSON.stringify(value));

/** Cents of cents: the server rounds what it prints. */
function rounded(told) {
  const round = (usd) => (usd === null ? null : Number(usd.toFixed(6)));
  const accounts = Object.entries(told.accounts).map(([name, one]) => [name, { ...one, cost: round(one.cost) }]);
  accounts.sort(([one], [other]) => (one < other ? -1 : 1));
  // The page writes the name of a scene as a title.
  const title = told.title.toLowerCase().replaceAll(" ", "-");
  return defined({ ...told, title, cost: round(told.cost), accounts: Object.fromEntries(accounts) });
}

const BUILT_IN = {
  "a chorus": () => chorus("What is a home?"),
  "a chorus of which one fell out": () => chorus("What is a home without the kettle?"),
  "a chorus that nobody could answer, asked again": async () => resumed(await chorus("Is nobody at all there?")),
  "a scene": () => scene(APOLOGY),
  "a scene with failures, that went on": async () => resumed(await scene(TRAIN), { maxRounds: 4 }),
  "a scene that was forked": async () => stopped(await forked(await scene(TRAIN), { notes: [{ text: "Hurry." }], personas: { jonas: "# Jonas\nCalm." } }), 3),
  "a collaboration": () => room("Tell of a cloud and a well.", 4),
  "a collaboration that was stopped, and went on": async () => resumed(await stopped(await room("Take your time: a tale.", 2), 2)),
  "a discussion": () => discussion(2),
  "a discussion with an edited line": async () => stopped(await forked(await discussion(1), { edit: "Which roof?" }), 2),
  "an interview": async () => why(await scene(TRAIN)),
};

const SCORES = {
  "a council": () => score("council"),
  "a council of which one fell out": () => score("council", { seats: { member: ["gpt", "claude", "gemini-2.5-pro", "mute"] } }),
  "a council that was stopped, and went on": async () => resumed(await stopped(await score("council"), 2)),
  "a council that was forked": async () => forked(await score("council"), { models: {} }),
  "a supper with a person": supper,
};

for (const [config, sessions] of [["polylogue.toml", BUILT_IN], ["score.toml", SCORES]]) {
  describe(config, () => {
    before(async () => {
      server = await Server.start({ config });
      page = await open(server, "/");
      await page.evaluate(`${await script("journal/story.ts", "folded")}; globalThis.folded = folded;`);
    });
    after(async () => {
      await clean(page);
      await server.stop();
    });
    for (const [name, begin] of Object.entries(sessions)) {
      test(name, { timeout: 120_000 }, () => isToldAlike(begin));
    }
  });
}

async function isToldAlike(begin) {
  const id = await begin();
  const expected = rounded(told(await server.ended(id)));
  const text = await (await server.ask("GET", `/v1/sessions/${id}/events`)).text();
  const entries = text.split("\n").flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []));
  const { story, grown, open } = await page.evaluate(fold, entries);
  assert.ok(expected.lines.length > 0);
  assert.deepEqual(rounded(story), expected);
  assert.deepEqual(rounded(grown), expected);
  assert.equal(open, 0);
}
