// The network of an app: it can be cut, and the app can be suspended, so that it neither reads nor sends.

/** While the network is down, sockets close and requests fail. While the app is suspended, everything waits. */
export class Network {
  isUp;
  isSuspended = false;
  #sockets = new Set();
  #waiting = [];

  constructor(isUp) {
    this.isUp = isUp;
  }

  WebSocket = this.#socketClass();
  fetch = async (...args) => {
    await new Promise((run) => this.#whenRunning(run));
    if (!this.isUp) throw new TypeError("no network");
    return fetch(...args);
  };

  /** Cuts the network; nothing of what the app wanted to send goes out. */
  cut() {
    this.isUp = false;
    for (const socket of this.#sockets) socket.close();
    this.#sockets.clear();
  }

  /** Suspends the app: its sockets stay open. */
  suspend() {
    this.isSuspended = true;
  }

  /** Lets the app run again; it reads what has come meanwhile. */
  resume() {
    this.isSuspended = false;
    for (const act of this.#waiting.splice(0)) act();
  }

  /** Sends a frame on the open connection, beside the kit. */
  send(frame) {
    for (const socket of this.#sockets) socket.send(JSON.stringify(frame));
  }

  #whenRunning(act) {
    if (this.isSuspended) this.#waiting.push(act);
    else act();
  }

  #socketClass() {
    const network = this;
    const run = (act) => network.#whenRunning(act);
    return function Socket(...args) {
      if (!network.isUp) return new NoSocket();
      const real = new WebSocket(...args);
      const socket = new AppSocket(real, run);
      network.#sockets.add(socket);
      real.addEventListener("close", () => network.#sockets.delete(socket));
      return socket;
    };
  }
}

/** The socket of an app, which reads and sends only while the app runs. */
class AppSocket {
  onmessage = null;
  onclose = null;
  onerror = null;
  #socket;
  #run;

  constructor(socket, run) {
    this.#socket = socket;
    this.#run = run;
    for (const name of ["message", "close", "error"]) {
      socket.addEventListener(name, (event) => run(() => this[`on${name}`]?.(event)));
    }
  }

  send(text) {
    this.#run(() => this.#socket.readyState === WebSocket.OPEN && this.#socket.send(text));
  }

  close() {
    this.#socket.close();
  }
}

/** The socket of a phone without a network: it never opens. */
class NoSocket {
  onclose = null;

  constructor() {
    setTimeout(() => this.onclose?.({ code: 1006 }), 100);
  }

  send() {}
  close() {}
}
