// Event streams, cut into frames however they arrive.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "../bundle.js";

const { parser } = await load("api/stream.ts");

const STREAM = [
  "id: 1\nevent: delta\ndata: {\"text\":\"Grüße 👋\"}\n\n",
  ": keep-alive\n\n",
  "data: one\ndata: two\n\n",
  "id: 7\r\ndata:no space\r\n\r\n",
  "event: waiting\n\n",
  "data: \n\n",
  "retry: 3000\ndata:  two spaces\nunknown: x\n\n",
].join("");
const FRAMES = [
  { id: "1", event: "delta", data: '{"text":"Grüße 👋"}' },
  { id: undefined, event: "message", data: "one\ntwo" },
  { id: "7", event: "message", data: "no space" },
  { id: undefined, event: "message", data: "" },
  { id: undefined, event: "message", data: " two spaces" },
];

test("all at once", () => {
  assert.deepEqual(parser()(STREAM), FRAMES);
});

test("in pieces of every size, nothing is lost and nothing comes twice", () => {
  for (let size = 1; size <= 40; size++) {
    const parse = parser();
    const frames = [];
    for (let at = 0; at < STREAM.length; at += size) frames.push(...parse(STREAM.slice(at, at + size)));
    assert.deepEqual(frames, FRAMES, `in pieces of ${size}`);
  }
});

test("what is not whole yet waits", () => {
  const parse = parser();
  assert.deepEqual(parse("id: 3\ndata: half"), []);
  assert.deepEqual(parse(" and half\n"), []);
  assert.deepEqual(parse("\n"), [{ id: "3", event: "message", data: "half and half" }]);
});

test("a megabyte in small pieces is looked through once", () => {
  const parse = parser();
  const before = process.cpuUsage().user;
  const data = "x".repeat(1 << 20);
  let frames = parse("data: ");
  for (let at = 0; at < data.length; at += 1 << 13) frames = frames.concat(parse(data.slice(at, at + (1 << 13))));
  frames = frames.concat(parse("\n\n"));
  assert.equal(frames[0].data.length, data.length);
  const ms = (process.cpuUsage().user - before) / 1000;
  assert.ok(ms < 300, `it takes ${ms} ms`);
});
