// From the key press to the first visible letter of a reply: what the page adds to what the API delivers. The browser
// notes when the key was pressed, when each request left and was answered, when the bytes of the first words arrived,
// and when they had been painted. Whatever lies between is either the server's or the page's.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { clean, closeBrowser, keep, open, Server } from "./harness.js";

const SAMPLES = 7;
const MOST = 50;

let server;
before(async () => (server = await Server.start()));
after(async () => {
  await closeBrowser();
  await server.stop();
});

/** Runs in the browser, before the page does. */
function watch() {
  const notes = (globalThis.notes = []);
  const note = (is, at = performance.now()) => notes.push({ is, at });
  addEventListener("keydown", (event) => event.key === "Enter" && note("key", event.timeStamp), { capture: true });

  const send = globalThis.fetch;
  globalThis.fetch = async (...given) => {
    const method = given[0].method ?? given[1]?.method ?? "GET";
    const isStream = new Headers(given[0].headers ?? given[1]?.headers).get("accept") === "text/event-stream";
    note(method === "POST" ? "posted" : isStream ? "listened" : "asked");
    const answer = await send(...given);
    if (method === "POST") note("answered");
    if (!isStream || !answer.ok) return answer;
    const [ours, theirs] = answer.body.tee();
    void read(ours);
    return new Response(theirs, answer);
  };
  async function read(stream) {
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true }));
      if (done) return;
      if (value.includes("event: delta")) note("delta");
    }
  }

  const look = new MutationObserver(() => {
    if (!document.querySelector(".writing")?.textContent.trim()) return;
    look.disconnect();
    // The frame that shows it is drawn after this callback; what is posted from it comes when it was.
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => note("painted");
      port2.postMessage(undefined);
    });
  });
  look.observe(document, { childList: true, characterData: true, subtree: true });
}

/** What the page itself has taken, in milliseconds. */
function added(notes) {
  const after = (is, at) => notes.find((note) => note.is === is && note.at >= at)?.at;
  const key = after("key", 0);
  const posted = after("posted", key);
  const answered = after("answered", posted);
  const delta = after("delta", key);
  const painted = after("painted", delta);
  // Where it only listens once it has an answer, the time in between is its own.
  const listened = after("listened", answered);
  const between = listened !== undefined && listened < delta ? listened - answered : 0;
  return { toSend: posted - key, between, toShow: painted - delta, sum: posted - key + between + painted - delta };
}

const median = (numbers) => numbers.slice().sort((one, other) => one - other)[Math.floor(numbers.length / 2)];

const FLOWS = {
  chorus: async (page) => {
    await page.goto(`${server.origin}/chorus`);
    await page.getByLabel("Your message to the chorus").fill("What is a home?");
  },
  collaboration: async (page, nth) => {
    await page.goto(`${server.origin}/room/quick-${nth}`);
    await page.getByRole("radio", { name: "Collaborate" }).check();
    await page.getByLabel("At most so many rounds").fill("1");
    await page.locator(".composer textarea, textarea").first().fill("Take your time: a tale.");
  },
  discussion: async (page) => {
    const participants = [{ role: "user" }, { role: "manager", agent: "mason" }];
    const { project } = await server.api("POST", "/api/discussions", { title: "The roof", participants });
    await page.goto(`${server.origin}/discussion/${project.id}`);
    await page.locator(".composer textarea:enabled").fill("It leaks.");
  },
};

for (const [format, prepare] of Object.entries(FLOWS)) {
  test(`${format}: at most ${MOST} ms of the page's own`, async () => {
    const page = await open(server, "/");
    await page.addInitScript(watch);
    const runs = [];
    let nth = 0;
    // What is slow because of the page is slow each time. What is slow because the machine did something else is not.
    do {
      const samples = [];
      for (let sample = 0; sample < SAMPLES; sample++) {
        await prepare(page, nth++);
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => globalThis.notes.some(({ is }) => is === "painted"));
        samples.push(added(await page.evaluate(() => globalThis.notes)));
      }
      const middle = (what) => Math.round(median(samples.map((sample) => sample[what])) * 10) / 10;
      runs.push({ toSend: middle("toSend"), between: middle("between"), toShow: middle("toShow"), sum: middle("sum") });
    } while (runs.length < 3 && runs.at(-1).sum > MOST);
    keep(`first visible letter, ${format}`, { medianOf: SAMPLES, runs });
    console.log(format, runs);
    assert.ok(runs.some(({ sum }) => sum >= 0 && sum <= MOST), JSON.stringify(runs));
    await clean(page);
  });
}
