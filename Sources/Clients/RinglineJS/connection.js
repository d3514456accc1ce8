// The WebSocket to the server.

// A connection that was checked and is silent for this time is lost.
const CHECK_TIMEOUT = 4_000;

/** One connection, from the attempt to open it until it is closed or given up. Each is used once. */
export class Connection {
  /** The number of the attempt. */
  number;
  #socket;
  #handlers;
  #timer;
  #isOver = false;

  /**
   * `handlers` has `opened(welcome, text)`, `received(text)`, `draining(milliseconds)` and `closed(code, reason)`. `closed`
   * comes once, also when the socket is given up: the close of a socket whose network is gone may never come.
   */
  constructor(number, WebSocket, url, token, handlers) {
    this.number = number;
    this.#handlers = handlers;
    // A browser cannot set a header, so the token is offered as a subprotocol.
    this.#socket = new WebSocket(url, ["ringline.v1", `bearer.${token}`]);
    this.#socket.onmessage = (event) => this.#received(event.data);
    this.#socket.onclose = ({ code, reason }) => this.#over(code, typeof reason === "string" ? reason : undefined);
    this.#socket.onerror = () => {};
    this.isOpen = false;
  }

  send(text) {
    if (this.isOpen) this.#socket.send(text);
  }

  /** Gives the connection up if the server does not answer in time. */
  check() {
    if (!this.isOpen || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.giveUp(), CHECK_TIMEOUT);
    try {
      // The server has no ping for clients; it acknowledges a request for nothing.
      this.#socket.send('{"type":"sync","id":"check","calls":{}}');
    } catch {
      // The timer gives up a socket that cannot send.
    }
  }

  /** Closes the connection and does not wait for the close. */
  giveUp() {
    this.#over(1006, "");
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
    // The core reads the frames; parsing each of them here as well would double the work.
    const message = this.isOpen && !text.includes('"draining"') ? null : parse(text);
    if (!this.isOpen && message?.type === "welcome") {
      this.isOpen = true;
      this.#handlers.opened(message, text);
      return;
    }
    if (message?.type === "draining") this.#handlers.draining(message.reconnectAfterMs);
    this.#handlers.received(text);
  }

  #over(code, reason) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.isOpen = false;
    clearTimeout(this.#timer);
    this.#handlers.closed(code, reason);
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
