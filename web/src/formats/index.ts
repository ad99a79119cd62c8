// The formats, a line each. Everything that the page knows of one lies in its folder.
import type { Component } from "svelte";

import type { Entry } from "../api/types";
import type { Line, Story } from "../journal/story";
import { chorus } from "./chorus";
import { collaboration } from "./collaboration";
import { discussion } from "./discussion";
import { interview } from "./interview";
import { scene } from "./scene";
import { score } from "./score";

export interface Format {
  /** As journals name it. */
  name: string;
  /** What the session is about, in the words of the person who started it. */
  titleOf(story: Story): string;
  /** The same of a session in a list, where it is said otherwise than the list has it. */
  listedTitle?(title: string): string;
  /** What the format makes of a session that has just begun; it may say the first lines. */
  begin(story: Story, entry: Entry): unknown;
  /** The same after another event, which the story itself has heard already. A new object where it has changed. */
  apply(story: Story, own: unknown, entry: Entry): unknown;
  /** How an agent is called, where it is not by its own name. */
  nameOf?(story: Story, agent: string): string | undefined;
  /** Where the story stands, in words: `beat 5 of 13`. */
  counter?(story: Story): string | undefined;
  /** Why it has ended, in words. In a list nothing more than the reason is known. */
  ending?(story: Story | undefined, reason: string): string | undefined;
  /** Whether it has come to a finished work that can be had as a file. */
  hasResult?(story: Story): boolean;
  /** The part of the session that a line belongs to, where the format has parts. */
  partOf?(story: Story, line: Line): { key: number; title: string } | undefined;
  /** What a replay shows below a line, where there is more to it than its words. */
  Beneath?: Component<{ story: Story; line: Line }>;
  /** What stands for an agent in a circle, where it is not the first letter of its name. */
  initialOf?(agent: string): string | undefined;
  /** Its place on the page, where people can begin one. */
  door?: Door;
}

export interface Door {
  title: string;
  /** The beginning of its addresses: `/chorus`. */
  path: string;
  /** Where a session of it is watched: `/chorus/ID`. */
  address(session: { id: string; room?: string | null }): string;
  /** One sentence on how turns are taken. */
  sentence: string;
  /** How turns are taken, as a small drawing. */
  Drawing: Component;
  /** Its view: `rest` is what follows its path in the address. Without anything, it is where one is begun. */
  Page: Component<{ rest: string[] }>;
  /** What one click begins, and how it is offered. */
  example: { label: string; begin: () => Promise<string> };
}

export const FORMATS: Format[] = [chorus, scene, collaboration, discussion, interview, score];

export function formatNamed(name: string): Format | undefined {
  return FORMATS.find((format) => format.name === name);
}

export const DOORS: Door[] = FORMATS.flatMap((format) => format.door ?? []);

/** Where a session is watched. What has no view of its own is replayed. */
export function addressOf(format: string, session: { id: string; room?: string | null }): string {
  return formatNamed(format)?.door?.address(session) ?? `/replay/${session.id}`;
}
