// Requests to the server, the user's token, and the ICE servers.

// A token is renewed this long before it expires, so that the connection stays open.
const RENEWAL_LEAD = 60_000;
// TURN credentials that expire sooner are not used for a new connection of media.
const CREDENTIAL_LEAD = 60_000;

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
      const token = await this.#makeToken();
      if (typeof token !== "string" || token === "") throw new TypeError("token: must return a string");
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
    return this.#request("POST", "api/calls/signal", capability, body);
  }

  /** Fetches the log of a call. */
  fetchCall({ callId, peer, epoch, since, act }, device) {
    const query = new URLSearchParams({ device, peer });
    if (since !== undefined) {
      query.set("epoch", epoch);
      query.set("since", since);
    }
    return this.#request("GET", `api/calls/signal/${encodeURIComponent(callId)}?${query}`, act);
  }

  async #request(method, path, capability, body) {
    try {
      const authorization = capability === undefined ? `Bearer ${await this.token()}` : `Ring ${capability}`;
      const headers = { Authorization: authorization };
      if (body !== undefined) headers["Content-Type"] = "application/json";
      const response = await this.#fetch(new URL(path, this.#url), { method, headers, body });
      return { status: response.status, body: await response.text() };
    } catch {
      // The core tries again.
      return { status: 0, body: "" };
    }
  }

  /** Keeps the ICE servers of a `welcome`. */
  welcomed({ iceServers = [] }) {
    this.#iceServers = iceServers;
    // The user name of a TURN credential begins with the second in which the credential expires.
    const expiries = iceServers.map(({ username }) => Number.parseInt(username ?? "", 10) * 1000);
    this.#iceServersExpire = Math.min(...expiries.map((moment) => (Number.isNaN(moment) ? Infinity : moment)));
  }

  /** Returns the ICE servers; asks for fresh ones if there are none yet, or if their credential expires. */
  async iceServers(now = Date.now()) {
    if (this.#iceServers !== null && now + CREDENTIAL_LEAD < this.#iceServersExpire) return this.#iceServers;
    const { status, body } = await this.#request("GET", "api/turn-cred");
    if (status === 200) {
      const credential = JSON.parse(body);
      this.#iceServers = credential.iceServers;
      this.#iceServersExpire = now + credential.ttl * 1000;
    }
    // A server without TURN answers 404.
    return this.#iceServers ?? [];
  }
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
