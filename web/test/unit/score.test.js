// What the page makes of a score: of whole journals, event by event; of replies; of a cast; of a text that is written.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { load } from "../bundle.js";

const { begin, apply, placeOf, openIn } = await load("formats/score/fold.ts");
const { letters } = await load("formats/score/letters.ts");
const { shown, outcome } = await load("formats/score/reply.ts");
const { usual, another, missing, changed } = await load("formats/score/cast.ts");
const { placed, speakers, sight, answer, expression } = await load("formats/score/score.ts");
const { copyOf, fresh, nameIn } = await load("formats/score/draft.ts");

const journal = (name) => readFileSync(join(import.meta.dirname, `journals/${name}.jsonl`), "utf8").trim().split("\n").map((line) => JSON.parse(line));

/** A story with only what the fold of a score reads: lines and open asks. */
function tell(entries) {
  const [{ setup }] = entries;
  const story = { setup, lines: [{ text: setup.format.message }], open: [] };
  story.own = begin(story);
  for (const entry of entries.slice(1)) {
    if (entry.type === "asked") story.open = [...story.open, entry];
    if (["answered", "ask_failed", "ask_cut"].includes(entry.type)) story.open = story.open.filter(({ ask }) => ask.agent !== entry.ask.agent);
    if (entry.type === "line_spoken" || entry.type === "human_spoke") story.lines.push({ text: entry.text });
    story.own = apply(story, story.own, entry);
  }
  return story;
}
const until = (name, isLast) => {
  const entries = journal(name);
  return tell(entries.slice(0, entries.findIndex(isLast) + 1));
};
const seatsIn = ({ taken }) => taken.map(({ seat }) => seat);

test("a council: its phases, who said what in each, who is left out, what came out", () => {
  const story = tell(journal("council"));
  const { played, results, awaited } = story.own;
  assert.deepEqual(played.map(({ number, phase, rounds, seats }) => [number, phase, rounds, seats.length]), [
    [1, "answer", [], 4],
    [2, "weigh", [], 4],
    [3, "conclude", [], 1],
  ]);
  assert.deepEqual(played.map((phase) => seatsIn(phase).sort()), [["claude", "gemini-2.5-pro", "gpt", "mute"], ["claude", "gemini-2.5-pro", "gpt", "mute"], ["chair"]]);
  assert.match(played[1].taken.find(({ seat }) => seat === "mute").failure, /the mute would rather not say/);
  assert.deepEqual(played[1].again, { claude: "there is no JSON object in the reply" });
  assert.equal(awaited, undefined);
  assert.equal(results.ranking.length, 4);
  for (const { taken } of played) {
    for (const one of taken.filter(({ failure }) => failure === undefined)) {
      const answered = journal("council").findLast(({ type, ask, seq }) => type === "answered" && ask.agent === one.seat && seq < one.seq);
      assert.ok(answered.text.includes(story.lines[one.line - 1].text), one.seat);
      assert.equal(placeOf(story, one.line).taken, one);
    }
  }
  assert.equal(placeOf(story, 1), undefined, "the message belongs to no phase");
});

test("the letters of a blind phase are those that the seats were told", () => {
  const entries = journal("council");
  const story = tell(entries);
  const weigh = story.own.played[1];
  const ranked = weigh.taken.filter(({ reply }) => reply);
  assert.equal(ranked.length, 3);
  for (const { seat, reply, seq } of ranked) {
    const { text } = entries.findLast((entry) => entry.type === "answered" && entry.ask.agent === seat && entry.seq < seq);
    const known = letters(story, weigh, seat);
    assert.deepEqual(known.map(({ letter }) => letter), ["A", "B", "C"]);
    const named = JSON.parse(text).ranking.map((letter) => known.find((one) => one.letter === letter).name);
    assert.deepEqual(named, reply.ranking, seat);
  }
  assert.deepEqual(letters(story, story.own.played[0], "gpt"), [], "nobody has a letter elsewhere");
  // A letter that is somebody's name is nobody's letter.
  const named = JSON.parse(JSON.stringify(entries).replaceAll('"mute"', '"b"'));
  assert.deepEqual(letters(tell(named), tell(named).own.played[1], "gpt").map(({ letter }) => letter), ["A", "C", "D"]);
  // Whoever proposed reads nobody; the others read one.
  const supper = tell(journal("supper"));
  assert.deepEqual(letters(supper, supper.own.played[2], "ben"), []);
  assert.deepEqual(letters(supper, supper.own.played[2], "cleo"), [{ name: "ben", letter: "A" }]);
});

test("a person is waited for, one is picked, a repeat goes round", () => {
  const first = tell(journal("supper").slice(0, 1));
  assert.equal(first.own.awaited, "you");
  assert.deepEqual(first.own.played[0].seats, ["you"]);
  const picking = until("supper", ({ type, ask }) => type === "asked" && ask.purpose === "pick");
  const [, propose] = picking.own.played;
  assert.equal(picking.own.awaited, undefined);
  assert.deepEqual([propose.by, propose.pick, propose.seats], ["host", undefined, ["ada", "ben", "cleo"]]);
  assert.equal(openIn(picking, propose, "host").ask.purpose, "pick");
  const voting = until("supper", ({ decision, seat }) => decision === "played" && seat === "ada");
  assert.deepEqual(seatsIn(voting.own.played[2]), ["ada"]);
  const whole = tell(journal("supper"));
  assert.deepEqual(
    whole.own.played.map(({ phase, rounds, pick }) => [phase, rounds, pick?.seat]),
    [["hunger", [], undefined], ["propose", [1], "ben"], ["vote", [1], undefined], ["answer", [1], undefined], ["propose", [2], "cleo"], ["vote", [2], undefined], ["answer", [2], undefined]],
  );
  assert.deepEqual(whole.own.results, { agreed: true, heat: 3, dishes: [{ count: 3, value: "soup" }] });
});

test("the first phase is found where a condition keeps others out of it", () => {
  const [started] = journal("supper");
  const { score } = started.setup.format;
  const only = { turn: { name: "never", who: [{ role: { role: "host", if: "{{ false }}" } }], sees: "all" } };
  const some = { turn: { name: "some", who: [{ role: { role: "cook", if: "{{ me.number > 1 }}" } }], sees: "all" } };
  const setup = { ...started.setup, format: { ...started.setup.format, score: { ...score, phases: [only, some] } } };
  const ask = (agent, seq) => ({ type: "asked", seq, ask: { purpose: "play", turn: 1, agent } });
  const story = tell([{ ...started, setup }, ask("ben", 2), ask("cleo", 3)]);
  assert.deepEqual(story.own.played.map(({ phase, seats }) => [phase, seats]), [["some", ["ben", "cleo"]]]);
});

test("those who failed are asked again when too few were left", () => {
  const entries = journal("council").slice(0, 12).filter(({ decision }) => decision === undefined);
  const failed = { seq: 90, type: "score", decision: "seat_failed", turn: 1, seat: "mute", message: "gone" };
  const short = { seq: 91, type: "score", decision: "too_few", turn: 1, role: "member" };
  assert.deepEqual(seatsIn(tell([...entries, failed, short]).own.played[0]), ["mute"]);
  const resumed = tell([...entries, failed, short, { seq: 92, type: "resumed", change: {} }]);
  assert.deepEqual([seatsIn(resumed.own.played[0]), resumed.own.isShort], [[], false]);
});

const FORMS = [
  { name: "ranking", form: { order: { phase: "answer" } } },
  { name: "agree", form: "yes_no" },
  { name: "heat", form: { number: { least: 1, most: 10 } } },
  { name: "ideas", form: { list: { of: "text", at_most: 3 } } },
  { name: "because", form: "text" },
];
const turnWith = (...names) => ({ name: "x", who: [], sees: "all", reply: FORMS.filter(({ name }) => names.includes(name)) });

test("a reply is shown in its form, and nothing is said twice", () => {
  const because = "It has a door.";
  const { words, fields } = shown(turnWith("ranking", "because"), { reply: { ranking: ["a", "b"], because } }, because);
  assert.deepEqual([words, fields], [because, [{ is: "order", name: "ranking", items: ["a", "b"], areSeats: true }]]);
  const ideas = shown(turnWith("ideas"), { reply: { ideas: ["One.", "Two."] } }, "One. / Two.");
  assert.deepEqual([ideas.words, ideas.fields.map(({ items }) => items)], ["", [["One.", "Two."]]]);
  const both = shown(turnWith("agree", "heat"), { reply: { agree: false, heat: 7 } }, "No, 7.");
  assert.deepEqual([both.words, both.fields.map(({ value }) => value)], ["No, 7.", [false, 7]]);
  assert.deepEqual(shown(turnWith("because"), { reply: { because } }, "Else.").fields, [{ is: "text", name: "because", text: because }]);
  assert.deepEqual(shown(turnWith(), {}, "Plain."), { words: "Plain.", fields: [] });
  assert.deepEqual(shown(turnWith("agree", "heat"), { reply: { agree: true } }, "").fields.length, 1, "what is missing is not shown");
});

test("what comes out is a table or words", () => {
  assert.deepEqual(outcome([{ name: "gpt", points: 4 }]), { is: "table", rows: [{ label: "gpt", figure: "4 points" }] });
  assert.deepEqual(outcome([{ count: 3, value: "soup" }]), { is: "table", rows: [{ label: "soup", figure: "3" }] });
  assert.deepEqual([outcome(true), outcome(2.3333), outcome([1, 2]), outcome([])].map(({ text }) => text), ["yes", "2.33", "1, 2", "none"]);
});

test("a cast is as the score has it, as far as they can be had, within its seats", () => {
  const one = (name, available = true, isModel = false) => ({ name, available, isModel });
  const all = [one("gpt"), one("claude", false), one("critic"), one("gemini/gemini-2.5-pro", true, true)];
  const member = { name: "member", least: 2, most: 3, default: ["gpt", "claude", "gemini-2.5-pro"] };
  assert.deepEqual(usual(member, all), ["gpt", "gemini/gemini-2.5-pro"]);
  assert.deepEqual(usual({ ...member, least: 3, default: ["gpt"] }, all), ["gpt", "gpt", "gpt"]);
  assert.deepEqual(usual({ ...member, default: ["nobody"] }, all), ["gpt", "critic"]);
  assert.deepEqual(usual(member, []), []);
  const guest = { name: "guest", least: 2, most: 3, isPerson: true };
  assert.deepEqual(usual(guest, all), ["you", "guest-2"]);
  assert.equal(another(guest, ["you", "guest-2"], all), "guest-3");
  assert.equal(another(member, ["gpt"], all), "critic");
  const score = { name: "x", roles: [member, guest], phases: [], settings: [{ name: "rounds", default: 3 }, { name: "stop", default: "" }] };
  const plan = { score, message: "Hm?", cast: { member: ["gpt", "critic"], guest: ["Nora", " "] }, values: {} };
  assert.match(missing(plan), /guest/);
  assert.match(missing({ ...plan, message: " ", cast: {} }), /message/);
  assert.equal(missing({ ...plan, cast: {} }), undefined);
  assert.deepEqual(changed(score, { rounds: 3, stop: "end", gone: 1 }), { stop: "end" });
});

test("phases in words", () => {
  const { score } = journal("supper")[0].setup.format;
  const said = placed(score.phases).map(({ turn }) => [speakers(score, turn), sight(turn), answer(turn)].filter(Boolean).join("; "));
  assert.deepEqual(said, [
    "guest",
    "one cook, whom host picks; sees the message and “hunger”",
    "cook, all at once; sees “propose”, without names; answers with agree (yes or no), heat (1 to 10) and dish (soup or roast)",
    "guest",
  ]);
  assert.equal(expression("{{ vote | all('agree') }}"), "vote | all('agree')");
});

test("what is written has a name, also while it is wrong", () => {
  assert.equal(nameIn("score: tea-time\nroles: ["), "tea-time");
  assert.equal(nameIn("# nothing yet"), "my-score");
  assert.equal(nameIn(fresh("score: NAME\nabout: x")), "my-score");
  assert.equal(copyOf("# A trial\nscore: mock-trial\nabout: score: no", "mock-trial"), "# A trial\nscore: my-mock-trial\nabout: score: no");
});
