// Requests to the server, the user's token, and the ICE servers.

// A token is renewed this long before it expires, so that the connection stays open.
const RENEWAL_LEAD = 60_000;
// The shortest time between two replacements of a refused token: neither a backend without tokens nor a server that
// refuses them must be asked without end.
const REPLACEMENT_PAUSE = 5_000;
// The largest time that a timer of JavaScript can wait.
export const LONGEST_TIMER = 2 ** 31 - 1;
// TURN credentials that expire sooner are not used for a new connection of media.
const CREDENTIAL_LEAD = 60_000;
// A request without a response is given up after this time: the core then sends the signal again.
const REQUEST_TIMEOUT = 10_000;
// An app's backend that has given no token by then is asked again.
const TOKEN_TIMEOUT = 30_000;
// A JWT. Any other text would be refused as a subprotocol, by an error that may show it.
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** The server refused a request of the app, or did not respond. */
export class RequestError extends Error {
  constructor(path, status, object) {
    const why = status === 0 ? "no response" : (object?.message ?? `status ${status}`);
    super(`${path.split("?")[0].split("/").slice(0, 3).join("/")}: ${why}`);
    /** The HTTP status; 0 = no response came. */
    this.status = status;
    /** The server's error code; `null` = it sent none. */
    this.code = object?.code ?? null;
  }
}

/** The server's REST API as one user. */
export class Server {
  #url;
  #fetch;
  #makeToken;
  #token = null;
  #renewing = null;
  #iceServers = null;
  #iceServersExpire = 0;

  constructor({ url, token, fetch }) {
    this.#url = url;
    this.#makeToken = token;
    this.#fetch = fetch;
  }

  /** The address of the WebSocket. */
  socketURL(device) {
    const url = new URL("ws", this.#url);
    url.protocol = url.protocol === "http:" ? "ws:" : "wss:";
    url.searchParams.set("device", device);
    return url.href;
  }

  /** Returns the user's token; asks the app for one at first. */
  async token() {
    return this.#renewing ?? this.#token ?? this.renewToken();
  }

  /** The server has refused the token: it is not used again. */
  tokenRefused() {
    this.#token = null;
  }

  /** Asks the app for a fresh token. Requests at the same time share one. */
  async renewToken() {
    this.#renewing ??= (async () => {
      const made = Promise.resolve(this.#makeToken());
      const token = await within(TOKEN_TIMEOUT, made, () => new Error("token: did not come in time"));
      if (typeof token !== "string" || !TOKEN.test(token)) throw new TypeError("token: must return a JWT");
      this.#token = token;
      return token;
    })().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  /** The moment at which the token should be renewed; `null` if it does not say when it expires. */
  get renewalMoment() {
    const expiry = expiryOf(this.#token);
    return expiry === null ? null : expiry - RENEWAL_LEAD;
  }

  /** Sends a signal by REST; returns `{status, body}`, with status 0 if there was no response. */
  post(body, capability) {
    return this.request("POST", "api/calls/signal", body, capability);
  }

  /** Fetches the log of a call. */
  fetchCall({ callId, peer, epoch, since, act }, device) {
    const query = new URLSearchParams({ device, peer });
    if (since !== undefined) {
      query.set("epoch", epoch);
      query.set("since", since);
    }
    return this.request("GET", `api/calls/signal/${encodeURIComponent(callId)}?${query}`, undefined, act);
  }

  /**
   * Sends a request of the app; returns what the response contains. If the server refuses the token, asks the app for another
   * one, once. Rejects with a `RequestError` if the request is refused.
   */
  async ask(method, path, body) {
    let response = await this.request(method, path, body);
    if (response.status === 401) {
      this.tokenRefused();
      response = await this.request(method, path, body);
    }
    const object = objectIn(response.body);
    const isGone = method === "DELETE" && response.status === 404;
    if (isGone || (response.status >= 200 && response.status < 300)) return object;
    throw new RequestError(path, response.status, object);
  }

  /** Sends a request with the user's token, or with the capability of a push; returns `{status, body}`. */
  async request(method, path, body, capability) {
    const abort = new AbortController();
    try {
      const authorization = capability === undefined ? `Bearer ${await this.token()}` : `Ring ${capability}`;
      const headers = { Authorization: authorization };
      if (body !== undefined) headers["Content-Type"] = "application/json";
      const asked = (async () => {
        const response = await this.#fetch(new URL(path, this.#url), { method, headers, body, signal: abort.signal });
        return { status: response.status, body: await response.text() };
      })();
      const response = await within(REQUEST_TIMEOUT, asked, () => new Error("no response in time"));
      if (!isResponse(response)) throw new TypeError("fetch: must return a response");
      return response;
    } catch {
      // The core tries again.
      abort.abort();
      return { status: 0, body: "" };
    }
  }

  /** Keeps the ICE servers of a `welcome`. */
  welcomed({ iceServers }) {
    this.#iceServers = serversIn(iceServers) ?? [];
    // The user name of a TURN credential begins with the second in which the credential expires.
    const expiries = this.#iceServers.map(({ username }) => Number.parseInt(username ?? "", 10) * 1000);
    this.#iceServersExpire = Math.min(...expiries.map((moment) => (Number.isNaN(moment) ? Infinity : moment)));
  }

  /** Returns the ICE servers; asks for fresh ones if there are none yet, or if their credential expires. */
  async iceServers(now = Date.now()) {
    if (this.#iceServers !== null && now + CREDENTIAL_LEAD < this.#iceServersExpire) return this.#iceServers;
    const { status, body } = await this.request("GET", "api/turn-cred");
    const credential = status === 200 ? objectIn(body) : null;
    const iceServers = serversIn(credential?.iceServers);
    if (iceServers !== null) {
      this.#iceServers = iceServers;
      this.#iceServersExpire = now + (Number.isFinite(credential.ttl) ? credential.ttl : 0) * 1000;
    }
    // A server without TURN answers 404.
    return this.#iceServers ?? [];
  }
}

/** Asks the app for fresh tokens: when the server has refused one, and before the token of a connection expires. */
export class TokenRenewal {
  #server;
  #handlers;
  #replacementTimer;
  #renewalTimer;
  /** When the app was last asked to replace a token. */
  #askedAt = -Infinity;
  #isClosed = false;

  /**
   * `handlers` has `replaced()`, which says that the refused token has been replaced, `fresh(token)`, which sends a token
   * over the connection, and `failed(error)`.
   */
  constructor(server, handlers) {
    this.#server = server;
    this.#handlers = handlers;
  }

  /** Replaces a token that the server has refused; asks again after a pause if there is none. */
  async replaceToken() {
    const since = Date.now() - this.#askedAt;
    // Below zero, the clock was set back meanwhile.
    if (since >= 0 && since < REPLACEMENT_PAUSE) return this.#replaceAfter(REPLACEMENT_PAUSE - since);
    this.#askedAt = Date.now();
    try {
      await this.#server.renewToken();
      if (!this.#isClosed) this.#handlers.replaced();
    } catch (error) {
      if (this.#isClosed) return;
      this.#handlers.failed(error);
      this.#replaceAfter(REPLACEMENT_PAUSE);
    }
  }

  #replaceAfter(milliseconds) {
    if (this.#isClosed) return;
    clearTimeout(this.#replacementTimer);
    this.#replacementTimer = setTimeout(() => this.replaceToken(), milliseconds);
  }

  /** A connection is open: its token is renewed before it expires, so that the connection stays open. */
  connected() {
    clearTimeout(this.#renewalTimer);
    const at = this.#server.renewalMoment;
    if (this.#isClosed || at === null || at <= Date.now()) return;
    this.#renewalTimer = setTimeout(async () => {
      try {
        const token = await this.#server.renewToken();
        if (this.#isClosed) return;
        this.#handlers.fresh(token);
        this.connected();
      } catch (error) {
        // When the token has expired, the server closes the connection, and the next attempt asks again.
        this.#handlers.failed(error);
      }
    }, Math.min(LONGEST_TIMER, at - Date.now()));
  }

  disconnected() {
    clearTimeout(this.#renewalTimer);
  }

  /** Asks for no further token. */
  close() {
    this.#isClosed = true;
    for (const timer of [this.#replacementTimer, this.#renewalTimer]) clearTimeout(timer);
  }
}

/** Waits for a promise for some time only; `error` makes the error if it takes longer. */
function within(milliseconds, promise, error) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(error()), milliseconds);
    // It must not keep a process of Node running.
    timer.unref?.();
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}

const isResponse = ({ status, body }) =>
  Number.isInteger(status) && status >= 0 && status < 1000 && typeof body === "string";

/** Returns the object that a text contains; `null` for another text, such as a page of a proxy. */
function objectIn(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Returns a list of ICE servers; `null` if it is none. */
function serversIn(list) {
  return Array.isArray(list) ? list.filter((server) => typeof server === "object" && server !== null) : null;
}

/** Returns when a JWT expires, in milliseconds since 1970; `null` if it does not say so. */
export function expiryOf(token) {
  try {
    const claims = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const { exp } = JSON.parse(atob(claims));
    return Number.isFinite(exp) ? exp * 1000 : null;
  } catch {
    return null;
  }
}
