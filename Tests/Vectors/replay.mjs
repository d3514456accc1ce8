// node Tests/Vectors/replay.mjs WASM [FILE] -- replays vectors on the client core in WebAssembly, and compares its
// outputs byte for byte. Reads standard input without FILE. See README.md.
import { webcrypto } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { BridgeError, Core, compileCore } from "../../Sources/Clients/RinglineJS/core.js";

// Debian's Node 18 has it under this name only.
globalThis.crypto ??= webcrypto;
const [wasm, file] = process.argv.slice(2);
const module = await compileCore(await readFile(wasm));
const lines = createInterface({ input: file ? createReadStream(file) : process.stdin });
let core, input, outputs;
let number = 0;
let steps = 0;
let cores = 0;

function compare(expected, actual) {
  if (expected === actual) return;
  console.error(`line ${number}: after ${input}\n  expected ${expected}\n  returned ${actual}`);
  process.exit(1);
}

/** Returns the line of the outputs, or of the fault if the core refuses the input. */
function take(text, now) {
  try {
    return `{"outputs":${core.handleText(text, now)},"deadline":${core.deadline}}`;
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    return JSON.stringify({ fault: error.message });
  }
}

for await (const line of lines) {
  number += 1;
  if (line.startsWith('{"outputs":')) {
    compare(line, outputs);
  } else if (line.startsWith('{"fault":')) {
    // A fault may quote the input, and JavaScript escapes some characters in another way.
    compare(JSON.stringify(JSON.parse(line)), outputs);
  } else if (line.startsWith('{"state":')) {
    compare(line, `{"state":${core.stateText}}`);
  } else if (line.startsWith('{"new":')) {
    core = new Core(module, JSON.parse(line).new);
    cores += 1;
  } else if (line.startsWith('{"reconnection":')) {
    core = new Core(module, { user: "10", device: "d1", signalIDPrefix: "p" }).reconnection;
    cores += 1;
  } else {
    // The text itself is handed in: JavaScript would write some numbers and escapes differently.
    const [start, now] = /^\{"now":(-?\d+),"input":/.exec(line);
    input = line;
    outputs = take(line.slice(start.length, -1), Number(now));
    steps += 1;
  }
}
if (steps === 0) {
  console.error("there are no vectors");
  process.exit(1);
}
console.log(`${steps} steps of ${cores} cores: no difference`);
