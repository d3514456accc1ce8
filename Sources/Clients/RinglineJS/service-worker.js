// The service worker of an app: shows the calls that come by Web Push, and hands them to the app's pages. Serve it from
// the app's origin, or import it into a worker of your own; README.md says how.
//
// A classic script without imports, because not every browser runs modules in service workers. The function around it
// keeps its names out of the worker that imports it.
(() => {
  "use strict";

  /** The texts of the notifications, unless the app has given others. */
  const TEXTS = {
    incomingCall: "Incoming call",
    incomingVideoCall: "Incoming video call",
    answer: "Answer",
    decline: "Decline",
    missedCall: "Missed call",
    answeredElsewhere: "Answered on another device",
    declinedElsewhere: "Declined on another device",
    callOver: "Call ended",
    test: "Calls can reach this browser",
  };
  /** The tag of a call's notifications begins with this. */
  const TAG = "ringline.call ";
  /** A call that is over does not ring for this time, even if its push comes late. */
  const MEMORY = 600_000;
  /** A call that was answered in its notification waits for this time until a page takes it. */
  const ANSWER_TIMEOUT = 120_000;
  /** A page that is silent for this time takes no call. Firefox opens a page only within a second after the click. */
  const PAGE_TIMEOUT = 300;
  /** The notification of a call that is over is closed after this time. */
  const NOTICE_TIME = 5_000;
  const REQUEST_TIMEOUT = 10_000;
  /** The pauses between the attempts to send a request. */
  const PAUSES = [500, 1_500, 4_000];

  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  // What the worker remembers: browsers stop it between two events.

  /** Values in IndexedDB. Nothing here fails: a call must ring without them, too. */
  const memory = {
    get: (key) => inDatabase("readonly", (values) => values.get(key)),
    put: (key, value) => inDatabase("readwrite", (values) => values.put(value, key)),
    delete: (key) => inDatabase("readwrite", (values) => values.delete(key)),
    clear: () => inDatabase("readwrite", (values) => values.clear()),
  };
  let database = null;

  async function inDatabase(mode, work) {
    try {
      database ??= openDatabase();
      const transaction = (await database).transaction("values", mode);
      const request = work(transaction.objectStore("values"));
      await new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error);
      });
      return request.result;
    } catch {
      database = null;
      return undefined;
    }
  }

  function openDatabase() {
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open("ringline", 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("values");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        // The user deletes the data of the site, say.
        opening.result.onclose = () => (database = null);
        opening.result.onversionchange = () => {
          database = null;
          opening.result.close();
        };
        resolve(opening.result);
      };
    });
  }

  /** Returns the settings that `Ringline.enableWebPush` has sent, with the defaults of the texts. */
  async function settings() {
    const known = await memory.get("settings");
    return { ...known, texts: { ...TEXTS, ...known?.texts } };
  }

  /** Identifies a call: another user may use the same callId. */
  const keyOf = ({ fromUserId, callId, epoch }) => [fromUserId, callId, epoch].join("/");
  const tagOf = (call) => TAG + keyOf(call);

  /** Returns the calls that were shown or are over, by key, each with the moment and, in `over`, the name of its text. */
  async function knownCalls() {
    const calls = (await memory.get("calls")) ?? {};
    return Object.fromEntries(Object.entries(calls).filter(([, { at }]) => Math.abs(Date.now() - at) < MEMORY));
  }

  async function remember(call, over = null) {
    await memory.put("calls", { ...(await knownCalls()), [keyOf(call)]: { at: Date.now(), over } });
  }

  let lastTurn = Promise.resolve();

  /** Runs a function when those before it have finished, so that the end of a call cannot overtake its beginning. */
  function inTurn(work) {
    const result = lastTurn.then(work);
    lastTurn = result.catch(() => {});
    return result;
  }

  // Pushes. Browsers demand that each push shows something, and check it when the push event is over. So the event does
  // not last until the ringing stops, and a notification is replaced, not closed.

  const PUSHES = {
    "call.incoming": incomingCall,
    "call.missed": (push) => callOver(push, "missedCall"),
    "call.over": (push) => callOver(push, OVER_TEXTS[push.reason] ?? "callOver"),
    message: async (push) => {
      const tag = `ringline.message ${push.fromUserId} ${push.sentAt}`;
      return show(push, { tag, body: push.body, timestamp: push.sentAt });
    },
    test: async (push) => show(push, { tag: "ringline.test", title: (await settings()).texts.test }),
  };
  const OVER_TEXTS = { answered_elsewhere: "answeredElsewhere", declined_elsewhere: "declinedElsewhere" };

  self.addEventListener("push", (event) => {
    const push = objectIn(event.data);
    // The app may have pushes of its own.
    if (push !== null && Object.hasOwn(PUSHES, push.type)) event.waitUntil(PUSHES[push.type](push));
  });

  function objectIn(data) {
    try {
      const value = data.json();
      return typeof value === "object" ? value : null;
    } catch {
      return null;
    }
  }

  async function incomingCall(push) {
    const needsReport = await inTurn(async () => {
      const { user, clockSkew, texts } = await settings();
      // The browser was another user's before, whose name and calls are not for this one.
      if (user !== undefined && push.toUserId !== undefined && push.toUserId !== user) return false;
      const known = (await knownCalls())[keyOf(push)];
      if (known?.over) return showOver(push, known.over);
      if (push.ringUntil <= Date.now() - (clockSkew ?? 0)) return showOver(push, "missedCall");
      await remember(push);
      const isTaken = await handOver(push);
      const isSilent = isTaken || known !== undefined;
      const isShown = await show(push, {
        tag: tagOf(push),
        body: push.hasVideo ? texts.incomingVideoCall : texts.incomingCall,
        timestamp: push.sentAt,
        requireInteraction: true,
        renotify: !isSilent,
        silent: isSilent,
        // A silent notification may not have a pattern.
        ...(!isSilent && { vibrate: [800, 400, 800, 400, 800, 400, 800] }),
        actions: [
          { action: "answer", title: texts.answer },
          { action: "decline", title: texts.decline },
        ],
      });
      // A page that rings says so itself.
      return isTaken ? false : isShown ? {} : { shown: false, why: "system" };
    });
    if (!needsReport) return;
    const { status, body } = await signal(push, "ringing", needsReport);
    const isOver = body?.state === "ended" || status === 409;
    if (isOver) await callOver(push, OVER_TEXTS[body?.reason] ?? "callOver");
  }

  /** Replaces the notification of a call, and keeps the call from ringing later. */
  async function callOver(push, text) {
    await inTurn(async () => {
      await remember(push, text);
      await showOver(push, text);
      await handOver(push);
    });
  }

  /** Shows quietly how a call ended. A missed call stays; everything else is closed soon. */
  async function showOver(push, text) {
    const { texts } = await settings();
    const { callId, epoch, fromUserId, fromDisplayName, sentAt } = push;
    const type = text === "missedCall" ? "call.missed" : "call.over";
    const notice = { type, callId, epoch, fromUserId, fromDisplayName };
    await show(notice, { tag: tagOf(push), body: texts[text], timestamp: sentAt, silent: true });
    const isClosing = (its) => its.type === "call.over" && keyOf(its) === keyOf(push);
    // After the push event. If the browser stops the worker before, the next page of the app closes it.
    if (type === "call.over") setTimeout(() => closeNotifications(isClosing), NOTICE_TIME);
    return false;
  }

  /**
   * Shows a notification about a push; returns whether the system takes it. Where nothing shows notifications, browsers
   * reject, and what else a push leads to must happen nevertheless.
   */
  async function show(push, options) {
    const { icon, badge } = await settings();
    const { title = push.fromDisplayName || push.fromUserId, ...rest } = options;
    try {
      await self.registration.showNotification(title, { icon, badge, ...rest, data: { ringline: push } });
      return true;
    } catch {
      return false;
    }
  }

  /** Closes the notifications about the pushes of a condition. */
  async function closeNotifications(condition) {
    const shown = await self.registration.getNotifications().catch(() => []);
    for (const notification of shown) {
      const push = notification.data?.ringline;
      if (push !== undefined && condition(push)) notification.close();
    }
  }

  // Requests, with the capability of the push (protocol, section 6.5).

  /** Sends a signal of a call; returns the status of the response (0 = none) and its body. */
  async function signal({ callId, epoch, act }, action, data) {
    const { url } = await settings();
    if (url === undefined || act === undefined) return { status: 0, body: null };
    const body = JSON.stringify({ callId, epoch, id: crypto.randomUUID(), action, data });
    for (let attempt = 0; ; attempt += 1) {
      const response = await post(new URL("api/calls/signal", url), act, body);
      // A server that was restarted may not know the call yet.
      const isFinal = ![0, 404, 408, 429].includes(response.status) && response.status < 500;
      if (isFinal || attempt === PAUSES.length) return response;
      await pause(PAUSES[attempt]);
    }
  }

  async function post(url, act, body) {
    try {
      const headers = { Authorization: `Ring ${act}`, "Content-Type": "application/json" };
      const response = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(REQUEST_TIMEOUT) });
      return { status: response.status, body: await response.json().catch(() => null) };
    } catch {
      return { status: 0, body: null };
    }
  }

  // The app's pages.

  /** Returns the pages of the origin, the last one that had the focus first. */
  const pages = () => self.clients.matchAll({ type: "window", includeUncontrolled: true });

  /** Asks each page; returns those that say yes in time. */
  async function pagesThat(message) {
    const all = await pages();
    const replies = await Promise.all(all.map((page) => {
      const { port1, port2 } = new MessageChannel();
      const reply = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data === true)));
      page.postMessage(message, [port2]);
      return Promise.race([reply, pause(PAGE_TIMEOUT)]).finally(() => port1.close());
    }));
    return all.filter((_, index) => replies[index]);
  }

  /** Hands a push to the app's pages; returns whether one that the user sees has taken it. */
  async function handOver(push) {
    const { device } = await settings();
    const takers = await pagesThat({ type: "ringline.push", push, device });
    return takers.some(({ visibilityState }) => visibilityState === "visible");
  }

  self.addEventListener("notificationclick", (event) => {
    const push = event.notification.data?.ringline;
    if (push === undefined) return;
    event.notification.close();
    event.waitUntil(clicked(push, event.action));
  });

  async function clicked(push, action) {
    if (push.type !== "call.incoming") return showPage(push.toUserId);
    if (action !== "decline") return answer(push);
    await inTurn(() => remember(push, "callOver"));
    await signal(push, "end", { reason: "declined" });
  }

  /** Hands a call that the user has answered to a page of the app, which answers it. */
  async function answer(push) {
    // A page that opens asks for it, perhaps before this function goes on.
    await inTurn(async () => {
      await memory.put("answered", { push, at: Date.now() });
      await remember(push, "callOver");
    });
    const page = await showPage(push.toUserId);
    if (page === undefined) return;
    await memory.delete("answered");
    page.postMessage({ type: "ringline.answer", push, device: (await settings()).device });
  }

  /** Shows a page with a `Ringline` of the user and returns it; opens the app's page if there is none. */
  async function showPage(user) {
    const [page] = await pagesThat({ type: "ringline.present", user });
    if (page === undefined) {
      await self.clients.openWindow((await settings()).page ?? self.registration.scope);
      return undefined;
    }
    // A browser may refuse the focus; the call is answered without it, too.
    await page.focus().catch(() => {});
    return page;
  }

  const MESSAGES = {
    /** The page's settings. Those that it does not know stay. */
    "ringline.configure": async ({ settings: fresh }) => {
      const { clockSkew } = await settings();
      await memory.put("settings", { ...fresh, clockSkew: fresh.clockSkew ?? clockSkew });
      return (await memory.get("settings")) !== undefined;
    },
    /** A page has a `Ringline`: returns the call that its user has answered in a notification. */
    "ringline.ready": async ({ user }) => {
      // Of a call whose end the browser was not told, and of a call that is over.
      await closeNotifications(({ type, ringUntil }) =>
        type === "call.over" || (type === "call.incoming" && ringUntil <= Date.now()));
      const answered = await memory.get("answered");
      if (answered === undefined || answered.push.toUserId !== user) return {};
      await memory.delete("answered");
      const isLate = Math.abs(Date.now() - answered.at) > ANSWER_TIMEOUT;
      return isLate ? {} : { push: answered.push, device: (await settings()).device };
    },
    /** A call no longer rings: a page has it, or it is over. */
    "ringline.settled": async ({ call }) => {
      await remember(call, "callOver");
      await closeNotifications((push) => push.type === "call.incoming" && keyOf(push) === keyOf(call));
      return true;
    },
    /** The user has logged out. Returns whether this worker had settings. */
    "ringline.forget": async () => {
      const isOwn = (await memory.get("settings")) !== undefined;
      await memory.clear();
      await closeNotifications(() => true);
      return isOwn;
    },
  };

  self.addEventListener("message", (event) => {
    const type = event.data?.type;
    if (!Object.hasOwn(MESSAGES, type)) return;
    event.waitUntil(inTurn(() => MESSAGES[type](event.data)).then((reply) => event.ports[0]?.postMessage(reply)));
  });

  /** The push service has ended the subscription. A page registers the new one, because the server needs its token. */
  async function renewSubscription({ newSubscription }) {
    const { user, applicationServerKey } = await settings();
    if (user === undefined) return;
    const options = { userVisibleOnly: true, applicationServerKey };
    const subscription = newSubscription ?? (await self.registration.pushManager.subscribe(options));
    const message = { type: "ringline.subscription", user, subscription: subscription.toJSON() };
    for (const page of await pages()) page.postMessage(message);
  }

  self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renewSubscription(event)));
})();
