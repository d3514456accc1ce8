// The WebSocket to the server.

// A server that answers at all answers within this time; a network that loses packets may never say so.
const OPENING_TIMEOUT = 10_000;
// A connection that was checked and is silent for this time is lost.
const CHECK_TIMEOUT = 4_000;

/** One connection, from the attempt to open it until it is closed or given up. Each is used once. */
export class Connection {
  #socket;
  #handlers;
  #timer;
  #isOver = false;

  /**
   * `handlers` has `opened(welcome)`, `received(text)` and `closed(code)`. `closed` comes once, also when the socket is
   * given up: the close of a socket whose network is gone may never come.
   */
  constructor(WebSocket, url, token, handlers) {
    this.#handlers = handlers;
    // A browser cannot set a header, so the token is offered as a subprotocol.
    this.#socket = new WebSocket(url, ["ringline.v1", `bearer.${token}`]);
    this.#socket.onmessage = (event) => this.#received(event.data);
    this.#socket.onclose = (event) => this.#over(event.code);
    this.#socket.onerror = () => {};
    this.#timer = setTimeout(() => this.giveUp(), OPENING_TIMEOUT);
    this.isOpen = false;
  }

  send(text) {
    if (this.isOpen) this.#socket.send(text);
  }

  /** Gives the connection up if the server does not answer in time. */
  check() {
    if (!this.isOpen || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.giveUp(), CHECK_TIMEOUT);
    // The server has no ping for clients; it acknowledges a request for nothing.
    this.#socket.send('{"type":"sync","id":"check","calls":{}}');
  }

  /** Closes the connection and does not wait for the close. */
  giveUp() {
    this.#over(1006);
    try {
      this.#socket.close();
    } catch {
      // A socket that is not connected yet may refuse to close; nobody listens to it any more.
    }
  }

  #received(text) {
    if (this.#isOver || typeof text !== "string") return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.isOpen) {
      const welcome = parse(text);
      if (welcome?.type === "welcome") {
        this.isOpen = true;
        this.#handlers.opened(welcome);
        return;
      }
    }
    this.#handlers.received(text);
  }

  #over(code) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.isOpen = false;
    clearTimeout(this.#timer);
    this.#handlers.closed(code);
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
