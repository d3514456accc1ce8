// The client core: one instance of `ringline.wasm` holds the calls of one device, and the state machine of its
// connection. Both decide and perform no I/O. `ClientBridge.docc` in the Swift sources describes their inputs and
// outputs.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Thrown when the core refuses an input: the message names the member that is wrong. */
export class BridgeError extends Error {
  name = "BridgeError";
}

/**
 * Compiles the core.
 *
 * `source` is an address, a `Response`, the module's bytes, or a compiled module; without one, the file beside this
 * module is used.
 */
export async function compileCore(source = new URL("./ringline.wasm", import.meta.url)) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  if (!(source instanceof Response)) {
    const url = new URL(source, import.meta.url);
    // Node's fetch reads no files.
    if (url.protocol === "file:") {
      const files = "node:fs/promises";
      // A variable, because bundlers for browsers look for the modules whose names they see.
      const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ files);
      return WebAssembly.compile(await readFile(url));
    }
    source = await fetch(url);
  }
  if (!source.ok) throw new Error(`wasm: ${source.url} answered ${source.status}`);
  // `compileStreaming` needs the type application/wasm, which many servers do not send.
  return WebAssembly.compile(await source.arrayBuffer());
}

/** A state machine in an instance of the module. */
class Machine {
  #exports;
  #name;

  /** `name` begins the names of the machine's functions. */
  constructor(exports, name) {
    this.#exports = exports;
    this.#name = name;
  }

  /** Takes an input at a moment, in milliseconds since 1970, and returns the outputs, in order. */
  handle(input, now = Date.now()) {
    return JSON.parse(this.handleText(jsonOf(input), now));
  }

  /** The same with texts. */
  handleText(input, now) {
    this.call("handle", input, Math.trunc(now));
    return this.#result();
  }

  /** When the input `deadlineReached` is due, in milliseconds since 1970; `null` = never. Changes with each input. */
  get deadline() {
    const deadline = this.#exports[`${this.#name}_deadline`]();
    return Number.isNaN(deadline) ? null : deadline;
  }

  /** The state, as the bridge's language describes it. */
  get state() {
    return JSON.parse(this.stateText);
  }

  /** The same as text. */
  get stateText() {
    this.#exports[`${this.#name}_state`]();
    return this.#result();
  }

  /** Calls a function of the machine with a text; throws if it returns a fault. */
  call(name, text, ...more) {
    const bytes = encoder.encode(text);
    const address = this.#exports.core_allocate(bytes.length);
    // The memory may have grown, and its buffer with it.
    new Uint8Array(this.#exports.memory.buffer, address, bytes.length).set(bytes);
    const isGood = this.#exports[`${this.#name}_${name}`](address, bytes.length, ...more);
    this.#exports.core_free(address);
    if (!isGood) throw new BridgeError(this.#result());
  }

  #result() {
    const address = this.#exports.core_result_address();
    const size = this.#exports.core_result_size();
    return decoder.decode(new Uint8Array(this.#exports.memory.buffer, address, size));
  }
}

/** Returns the JSON of a value of the app. */
function jsonOf(value) {
  try {
    return JSON.stringify(value);
  } catch (error) {
    throw new BridgeError(`the value must be JSON: ${error.message}`, { cause: error });
  }
}

/** The calls of one device. */
export class Core extends Machine {
  /** When the device opens its connection, and when it gives up on one. */
  reconnection;

  /** Creates a core from a module of `compileCore` and the configuration in the bridge's language. */
  constructor(module, configuration) {
    const random = (address, size) => crypto.getRandomValues(new Uint8Array(exports.memory.buffer, address, size));
    const { exports } = new WebAssembly.Instance(module, { env: { random } });
    super(exports, "core");
    this.call("create", jsonOf(configuration));
    this.reconnection = new Machine(exports, "reconnection");
  }
}
