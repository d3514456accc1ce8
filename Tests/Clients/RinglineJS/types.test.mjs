// Debian's tsc checks the hand-written types: uses that must compile, and uses that must not.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as ringline from "../../../Sources/Clients/RinglineJS/ringline.js";

const options = "--strict --noEmit --target es2022 --module es2022 --moduleResolution node --lib es2022,dom".split(" ");
const path = (name) => fileURLToPath(new URL(`types/${name}`, import.meta.url));

/** Returns the lines of a file in which tsc finds errors; errors elsewhere fail the test. */
function errorLines(name) {
  const { stdout, error } = spawnSync("tsc", [...options, path(name)], { encoding: "utf8" });
  assert.equal(error, undefined, "tsc: apt-get install node-typescript");
  const errors = stdout.split("\n").filter((line) => /error TS\d+/.test(line));
  return errors.map((line) => {
    const place = new RegExp(`${name}\\((\\d+),`).exec(line);
    assert.ok(place, line);
    return Number(place[1]);
  });
}

test("uses that must compile do", () => {
  assert.deepEqual(errorLines("accepted.ts"), []);
});

test("each use that must not compile is an error", () => {
  const lines = readFileSync(path("refused.ts"), "utf8").split("\n");
  const expected = lines.flatMap((line, index) => (line.startsWith("// error: ") ? [index + 2] : []));
  assert.ok(expected.length > 10);
  assert.deepEqual(errorLines("refused.ts"), expected);
});

test("the types name what the module exports, and every method of it", () => {
  const types = readFileSync(new URL("../../../Sources/Clients/RinglineJS/ringline.d.ts", import.meta.url), "utf8");
  for (const name of Object.keys(ringline)) {
    assert.match(types, new RegExp(`export (declare )?(class|function) ${name}\\b`), name);
  }
  for (const kind of [ringline.Ringline, ringline.Call]) {
    const text = types.slice(types.indexOf(`class ${kind.name} `));
    for (const name of Object.getOwnPropertyNames(kind.prototype)) {
      if (name !== "constructor") assert.match(text, new RegExp(`\\b${name}[(:<]`), `${kind.name}.${name}`);
    }
  }
});
