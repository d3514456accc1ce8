// The options of a `Ringline`.
import { PeerEngine } from "./engine.js";

/** Returns the options with their defaults; throws a TypeError that names the option that is wrong. */
export function checked(options) {
  const need = (name, isGood, what) => {
    if (!isGood(options?.[name])) throw new TypeError(`${name}: must be ${what}`);
  };
  const isText = (value) => typeof value === "string" && value !== "";
  const isFunction = (value) => typeof value === "function";
  const optional = (isGood) => (value) => value === undefined || isGood(value);
  need("url", (url) => URL.canParse(url) && /^https?:/.test(url), "an http or https address");
  need("user", isText, "a user id");
  need("device", isText, "a device id that this installation keeps");
  need("token", isFunction, "a function that returns a token");
  for (const name of ["media", "engine", "WebSocket", "fetch"]) need(name, optional(isFunction), "a function");
  const { url, WebSocket = globalThis.WebSocket, fetch = (...args) => globalThis.fetch(...args) } = options;
  if (!isFunction(WebSocket)) throw new TypeError("WebSocket: must be a class, because this platform has none");
  return {
    media: ({ audio, video }) => navigator.mediaDevices.getUserMedia({ audio, video }),
    engine: (host) => new PeerEngine(host),
    ...options,
    // A path without a final slash would lose its last part.
    url: url.endsWith("/") ? url : `${url}/`,
    WebSocket,
    fetch,
  };
}
