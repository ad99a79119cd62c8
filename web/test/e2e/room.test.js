// A room through the page: one call, one collaboration, two at once, stop and go on, a reload and a killed server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { clean, closeBrowser, open, Server, shoot } from "./harness.js";

let server;
before(async () => (server = await Server.start()));
after(async () => {
  await closeBrowser();
  await server.stop();
});

const field = (page) => page.locator("textarea");
const texts = (page) => page.locator("[role=log] .text").allInnerTexts();
const running = async (room) => (await server.api("GET", `/v1/rooms/${room}`)).sessions;

async function collaborate(page, text, rounds) {
  await page.getByRole("radio", { name: "Collaborate" }).check();
  await page.getByLabel("At most so many rounds").fill(String(rounds));
  await field(page).fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

/** Who has which hue. */
function hues(page) {
  return page.evaluate(() =>
    Object.fromEntries([...document.querySelectorAll("[role=log] [data-hue]")].map((line) => [line.querySelector(".name").textContent, line.dataset.hue])),
  );
}

const isRouters = (line) => line.kind === "router";

/** The page shows what the journal has: the same words in the same order. */
async function likeTheJournal(page, id) {
  const { lines } = await server.ended(id);
  const said = lines.filter((line) => !isRouters(line)).map((line) => line.text);
  // In a room somebody is called, or is not: what was handed over after the last round has called nobody.
  const last = lines.findLastIndex((line) => !isRouters(line));
  const routed = lines.filter((line, at) => isRouters(line) && (line.to === undefined || at < last)).map((line) => line.text);
  await page.locator(".aside", { hasText: routed.at(-1) }).last().waitFor();
  assert.deepEqual(await texts(page), said);
  const asides = await page.locator(".aside p").allInnerTexts();
  assert.deepEqual(routed.filter((text) => !asides.some((aside) => aside.endsWith(text))), [], "what the router says is set apart");
}

test("rooms are listed, and one is entered", async () => {
  const page = await open(server, "/room");
  await page.getByRole("link", { name: "lobby" }).waitFor();
  await shoot(page, "rooms");
  await page.getByLabel("Another room").fill("no such name");
  assert.ok(await page.getByRole("button", { name: "Enter" }).isDisabled());
  await page.getByLabel("Another room").fill("kitchen");
  await page.keyboard.press("Enter");
  await page.getByText("Nothing has been said in kitchen yet.").waitFor();
  await shoot(page, "room-empty");
  await field(page).fill("@gpt What is a cloud?");
  await page.keyboard.press("Enter");
  await page.getByText("A cloud is water that has not decided where to fall.").waitFor();
  assert.equal(await field(page).inputValue(), "");
  assert.deepEqual(await texts(page), ["What is a cloud?", "A cloud is water that has not decided where to fall."]);
  await clean(page);
});

test("a collaboration is begun, reloaded in the middle, and ends as the journal has it", async () => {
  const page = await open(server, "/room/tale");
  await collaborate(page, "Tell of a cloud and a well.", 4);
  await page.getByText(/Collab: \d\/4/).waitFor();
  const [{ sessionId }] = await running("tale");
  await page.reload();
  await likeTheJournal(page, sessionId);
  await page.locator(".aside", { hasText: "Collaboration ended" }).waitFor();
  await page.getByRole("link", { name: "Replay" }).waitFor();
  await shoot(page, "room-ended");
  await clean(page);
});

test("a result is offered where there is one", async () => {
  const page = await open(server, "/room/result");
  await collaborate(page, "Tell of a cloud and a well.", 4);
  await page.getByText(/Collab: \d\/4/).waitFor();
  const [{ sessionId }] = await running("result");
  assert.equal((await server.ended(sessionId)).reason, "final");
  const link = page.getByRole("link", { name: "Download the result" });
  assert.equal((await server.ask("GET", await link.getAttribute("href"))).status, 200);

  // As the server tells of a collaboration from before there were results.
  const path = `/v1/sessions/${sessionId}`;
  await page.route(`**${path}`, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), artifacts: [] } });
  });
  const asked = page.waitForResponse((response) => new URL(response.url()).pathname === path);
  await page.reload();
  await (await asked).finished();
  await page.getByRole("link", { name: "Replay" }).waitFor();
  assert.equal(await link.count(), 0);
  await clean(page);
});

test("text is shown as it is written, and nothing is lost when the server is killed", async () => {
  const page = await open(server, "/room/killed");
  page.mayLoseConnection = true;
  await collaborate(page, "Take your time: a fairy tale.", 2);
  await page.getByText("thinking").waitFor();
  await page.locator(".writing", { hasText: "a tinker's daughter" }).waitFor();
  await shoot(page, "room-writing", { still: server });
  const place = await page.getByRole("button", { name: "Stop" }).boundingBox();
  const [{ sessionId }] = await running("killed");
  await server.kill();
  await page.getByText(/Reconnecting/).waitFor();
  await shoot(page, "room-reconnecting");
  await server.run();
  await page.getByText("Collab: 1/2").waitFor();
  assert.deepEqual(await page.getByRole("button", { name: "Stop" }).boundingBox(), place, "Stop is always in the same place");
  await likeTheJournal(page, sessionId);
  await page.getByText(/Reconnecting/).waitFor({ state: "detached" });

  // The rounds are used up: with more of them it goes on.
  await page.getByRole("button", { name: "Go on" }).waitFor();
  await shoot(page, "room-used-up");
  await page.getByRole("spinbutton", { name: /more rounds/ }).fill("1");
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("Collab: 2/3").waitFor();
  await page.getByText("Collab: 2/3").waitFor({ state: "detached" });
  await likeTheJournal(page, sessionId);
  await clean(page);
});

test("two at once stay apart, each with its Stop; one that was stopped goes on", async () => {
  const page = await open(server, "/room/two");
  await collaborate(page, "Take your time: the first tale.", 6);
  await page.getByText("Collab: 0/6").waitFor();
  await collaborate(page, "Take your time: the second tale.", 5);
  await page.getByText("Collab: 0/5").waitFor();
  await page.getByRole("button", { name: "Stop collaboration A" }).waitFor();
  await page.getByText(/Collab: 1\/5/).waitFor();
  await page.locator(".writing").nth(1).waitFor();
  await shoot(page, "room-two", { still: server });
  const tags = await page.locator(".tag").allInnerTexts();
  assert.ok(tags.includes("A") && tags.includes("B"), `every line says which it belongs to: ${tags}`);
  await page.getByRole("button", { name: "Collaboration B", exact: true }).first().click();
  await page.locator(".dim").first().waitFor();
  await page.getByRole("button", { name: "Collaboration B", exact: true }).first().click();

  // Words go into the one that was chosen.
  const [, second] = await running("two");
  await page.getByRole("radio", { name: "Join in" }).check();
  await page.getByLabel("Which one").selectOption({ label: "B: Take your time: the second tale." });
  await shoot(page, "room-joining", { still: server });
  await field(page).fill("More of the well.");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator("[role=log] .line", { hasText: "More of the well." }).getByRole("button", { name: "Collaboration B" }).waitFor();
  assert.ok((await server.session(second.sessionId)).lines.some((line) => line.text === "More of the well."));

  await page.getByRole("button", { name: "Stop collaboration A" }).click();
  await page.getByText("Collaboration canceled by user.").waitFor();
  await page.getByText(/Collab: \d\/6/).waitFor({ state: "detached" });
  assert.equal((await running("two")).length, 1);
  await page.getByRole("button", { name: /^Stop/ }).click();
  await page.getByText(/Collab: \d\/5/).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Go on" }).first().waitFor();
  await shoot(page, "room-stopped");
  await page.getByRole("button", { name: "Go on" }).first().click();
  await page.getByText("Collaboration goes on.").waitFor();
  await page.getByText(/Collab: \d\/6/).waitFor();
  await page.getByRole("button", { name: /^Stop/ }).click();
  await page.getByText(/Collab: \d\/6/).waitFor({ state: "detached" });
  await clean(page);
});

test("a person speaks into what runs", async () => {
  const page = await open(server, "/room/into");
  await collaborate(page, "Take your time: once more.", 3);
  await page.getByRole("radio", { name: "Join in" }).check();
  await field(page).fill("Make it shorter.");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator("[role=log] .text", { hasText: "Make it shorter." }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Collaboration canceled by user.").waitFor();
  await clean(page);
});

test("everything is done by keyboard alone", async () => {
  const page = await open(server, "/room/keys");
  await page.getByText("Nothing has been said in keys yet.").waitFor();
  const press = async (key, target) => {
    for (let presses = 0; presses < 40; presses++) {
      if (await target.evaluate((element) => element === document.activeElement)) return;
      await page.keyboard.press(key);
    }
    assert.fail("it cannot be reached by keyboard");
  };
  await press("Tab", page.getByRole("radio", { name: "Single call" }));
  await page.keyboard.press("ArrowRight");
  assert.ok(await page.getByRole("radio", { name: "Collaborate" }).isChecked());
  await press("Tab", page.getByLabel("To whom"));
  await page.keyboard.type("claude");
  await press("Tab", page.getByLabel("At most so many rounds"));
  await page.keyboard.press("ArrowDown");
  await press("Tab", field(page));
  await page.keyboard.type("Take your time: a tale by keyboard.");
  await page.keyboard.press("Enter");
  await page.getByText("Collab: 0/5").waitFor();
  await press("Shift+Tab", page.getByRole("button", { name: "Stop" }));
  await page.keyboard.press("Enter");
  await page.getByText("Collaboration canceled by user.").waitFor();
  await press("Shift+Tab", page.getByRole("button", { name: "Go on" }));
  await clean(page);
});

test("words do nothing, whoever they are from", async () => {
  const page = await open(server, "/room/inert");
  page.on("dialog", (dialog) => page.errors.push(`a dialog: ${dialog.message()}`));
  await page.getByLabel("To whom").selectOption("critic");
  await field(page).fill("What can hurt? <img src=x onerror=alert(1)> [a](javascript:alert(1)) \u202eabc");
  await page.keyboard.press("Enter");
  await page.locator("[role=log]").getByText("שלום").waitFor();
  const shown = (await texts(page)).join("\n");
  assert.equal(shown.split("<img src=x onerror=alert(1)>").length, 3);
  assert.ok(!/[\u202a-\u202e]/.test(shown));
  assert.equal(await page.locator("main img, main [href^='javascript']").count(), 0);
  await shoot(page, "room-inert");
  await clean(page);
});

test("a refusal is said where it happens, and the words are kept", async () => {
  const page = await open(server, "/room/refused");
  page.mayLoseConnection = true;
  await field(page).fill("@nobody-of-this-name Hello?");
  await page.route("**/messages", (route) => route.fulfill({ status: 404, json: { error: { code: "NOT_FOUND", message: "there is no agent `nobody`" } } }));
  await page.keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
  assert.equal(await field(page).inputValue(), "@nobody-of-this-name Hello?");
  await shoot(page, "room-refused");
  await clean(page);
});

test("a collaboration in no room is watched through its journal", async () => {
  const page = await open(server, "/room/tale");
  const { sessions } = await server.api("GET", "/v1/sessions");
  const { sessionId } = sessions.find((one) => one.title.startsWith("Tell of a cloud"));
  await page.getByRole("link", { name: "Replay" }).waitFor();
  const inRoom = await hues(page);
  await page.goto(`${server.origin}/room/-/${sessionId}`);
  await likeTheJournal(page, sessionId);
  assert.deepEqual(await hues(page), inRoom, "everybody has the same hue wherever they are watched");
  await shoot(page, "collaboration-alone");
  await clean(page);
});
