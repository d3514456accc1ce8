// The package for npm, which `Sources/Clients/RinglineJS/pack` has made: one module with the core in it.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import * as joined from "../../../.build/npm/ringline.js";
import * as modules from "../../../Sources/Clients/RinglineJS/ringline.js";
import { device } from "./support.mjs";

const folder = new URL("../../../.build/npm/", import.meta.url);

test("it exports what the modules export, and needs no other file", async () => {
  assert.deepEqual(Object.keys(joined), Object.keys(modules));
  assert.ok((await joined.compileCore()) instanceof WebAssembly.Module);
  assert.doesNotMatch(readFileSync(new URL("ringline.js", folder), "utf8"), /^import /m);
});

test("it connects with the core in it", async (context) => {
  const { ringline, sockets } = await device({ wasm: undefined }, joined.Ringline);
  context.after(() => ringline.close());
  sockets[0].welcome();
  assert.equal(ringline.connectionState, "open");
});

test("it holds every file that package.json names, and no other code", () => {
  const { files, exports, types } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
  const there = readdirSync(folder);
  assert.deepEqual(there.sort(), [...files, "LICENSE", "README.md", "package.json"].sort());
  const named = [types, ...Object.values(exports).flatMap((each) => (typeof each === "string" ? [each] : Object.values(each)))];
  for (const path of named) assert.ok(there.includes(path.replace("./", "")), path);
});
