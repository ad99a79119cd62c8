// A person plays a character in the page, on a phone: whose turn it is, how much time is left, how it is said, and how
// to let it pass.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { clean, closeBrowser, open, PHONE, Server, shoot } from "./harness.js";

let server;
before(async () => (server = await Server.start({ config: "stage.toml" })));
after(async () => {
  await closeBrowser();
  await server.stop();
});

const PLAYED = {
  name: "the-apology-with-you",
  prompt: "Alice confronts Bob about Henderson.\nScene goal: Bob apologizes, Alice accepts.",
  setting: "A conference room, rain on the windows",
  characters: ["alice", { person: "you", plays: "bob" }],
  initialSpeaker: "alice",
  maxBeats: 4,
};

/** A finger needs so much. */
const FINGER = 34;

async function begun(file) {
  return (await server.api("POST", "/v1/scenes", { ...PLAYED, ...file })).sessionId;
}

const turn = (page) => page.getByText("It is Bob’s turn.");
const others = (page) => page.getByText("You play Bob.");
const words = (page) => page.getByLabel("What Bob says");
const tone = (page) => page.getByLabel("Tone");
const pass = (page) => page.getByRole("button", { name: "Pass" });
const say = (page) => page.getByRole("button", { name: "Say" });
const line = (page, text) => page.locator("[data-line]", { hasText: text });

/** What one speaks with is in the window, nothing lies on anything else, and there is room for the words. */
async function fits(page) {
  const { width, height } = page.viewportSize();
  const parts = { turn: turn(page), left: page.getByRole("timer"), tone: tone(page), words: words(page), pass: pass(page), say: say(page) };
  const boxes = [];
  for (const [name, part] of Object.entries(parts)) boxes.push({ name, ...(await part.boundingBox()) });
  for (const box of boxes) {
    const isIn = box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;
    assert.ok(isIn, `${box.name} is not in the window: ${JSON.stringify(box)}`);
  }
  for (const [at, one] of boxes.entries()) {
    for (const other of boxes.slice(at + 1)) {
      const isApart = one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y;
      assert.ok(isApart, `${one.name} and ${other.name} lie on each other`);
    }
  }
  const box = (name) => boxes.find((box) => box.name === name);
  for (const name of ["words", "pass", "say", "tone"]) assert.ok(box(name).height >= FINGER, `${name} is ${box(name).height} px high`);
  assert.ok(box("words").width >= width * 0.85, `the words have ${box("words").width} px`);
}

/** What was said last can be read: the place where one speaks does not lie on it. */
async function readable(page, text) {
  await page.waitForFunction((text) => {
    const line = [...document.querySelectorAll("[data-line]")].find((line) => line.textContent.includes(text));
    return line && line.getBoundingClientRect().bottom <= document.querySelector("form.composer").getBoundingClientRect().top;
  }, text);
}

test("a person plays on a phone: says how, is cut off, lets a beat pass, and acts", async () => {
  const id = await begun({ patience: 600 });
  const page = await open(server, `/scene/${id}`, { size: PHONE });
  await turn(page).waitFor();
  await page.getByText(/^(10:00|9:\d\d) left$/).waitFor();
  await page.getByText("Director, to Bob: You knew it on the third.").waitFor();
  assert.equal(await page.getByText("Give him a moment.").count(), 0, "a note to Alice is hers alone");
  await fits(page);
  await readable(page, "how that happened");
  await shoot(page, "stage-turn");

  const long = "Look, I can explain. The specs came in two weeks late, and then legal sat on the data agreement for another nine days, and nobody said a word.";
  await tone(page).fill("nervous");
  await words(page).fill(`*looks up* ${long}`);
  await fits(page);
  await shoot(page, "stage-written");
  await say(page).click();
  await others(page).waitFor();
  assert.equal(await page.getByRole("timer").count(), 0, "nobody is waited for");
  assert.equal(await pass(page).count() + (await tone(page).count()), 0, "there is nothing to choose");
  assert.ok(await words(page).isDisabled());
  await shoot(page, "stage-others", { still: server });
  await line(page, "I can explain").getByText("nervous").waitFor();

  // Alice has cut it off by the time that it is Bob's turn again.
  await turn(page).waitFor();
  await line(page, "I'm not asking for an explanation.").waitFor();
  assert.equal(await tone(page).inputValue(), "", "the tone was that of one line");
  await pass(page).click();
  await line(page, "Then tell me what you knew.").waitFor();
  await turn(page).waitFor();
  await readable(page, "Then tell me what you knew.");
  await words(page).fill("*kneels*");
  await words(page).press("Enter");
  await page.locator(".ending .why").waitFor();
  const said = (await server.session(id)).lines.filter(({ speaker }) => speaker === "bob");
  assert.deepEqual(
    said.map(({ kind, text, tone, nonverbal = [] }) => [kind, text, tone, nonverbal]),
    [
      ["speak", long, "nervous", ["looks up"]],
      ["react", "kneels", undefined, ["kneels"]],
    ],
  );
  await shoot(page, "stage-ended");
  await clean(page);
});

test("whoever does not speak in time is passed over, and told so", async () => {
  const id = await begun({ patience: 2, maxBeats: 2 });
  const page = await open(server, `/scene/${id}`, { size: PHONE });
  await turn(page).waitFor();
  await page.getByText(/^0:0[012] left$/).waitFor();
  await page.locator(".ending .why").waitFor();
  assert.deepEqual((await server.session(id)).lines.map(({ speaker }) => speaker), ["alice"]);
  await page.getByText("Bob says nothing: nobody spoke in time.").waitFor();
  await clean(page);
});

test("what cannot be said is kept, and it can be said again", async () => {
  const id = await begun({ patience: 600 });
  const page = await open(server, `/scene/${id}`, { size: PHONE });
  page.mayLoseConnection = true;
  await turn(page).waitFor();
  await words(page).fill("I am sorry, Alice.");
  await server.kill();
  await say(page).click();
  await page.getByText("The server cannot be reached.", { exact: false }).waitFor();
  assert.equal(await words(page).inputValue(), "I am sorry, Alice.");
  await shoot(page, "stage-unreachable");
  await server.run();
  await page.getByText(/Reconnecting/).waitFor({ state: "detached" });
  await turn(page).waitFor();
  await say(page).click();
  await line(page, "I am sorry, Alice.").waitFor();
  const { lines } = await server.session(id);
  assert.equal(lines.filter(({ text }) => text === "I am sorry, Alice.").length, 1);
  await clean(page);
});
