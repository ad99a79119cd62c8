// The page's own modules for a test. They are in TypeScript and name each other as the page's build does, so the same
// build makes one script of them.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { build } from "vite";

const SOURCE = resolve(import.meta.dirname, "../src");
const QUIET = { configFile: false, logLevel: "silent", root: resolve(SOURCE, "..") };

/** A module that needs no page around it, to be used here. */
export async function load(path) {
  const { output } = await build({ ...QUIET, plugins: [svelte()], ssr: { noExternal: true }, build: { ssr: join(SOURCE, path), write: false } });
  const folder = mkdtempSync(join(tmpdir(), "polylogue-unit-"));
  try {
    const file = join(folder, "module.mjs");
    writeFileSync(file, output[0].code);
    return await import(pathToFileURL(file));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A script that gives a browser the module under a global name. */
export async function script(path, name) {
  const lib = { entry: join(SOURCE, path), formats: ["iife"], name, fileName: "script" };
  const made = await build({ ...QUIET, plugins: [svelte()], build: { lib, write: false, minify: false } });
  return [made].flat()[0].output.find(({ type }) => type === "chunk").code;
}
