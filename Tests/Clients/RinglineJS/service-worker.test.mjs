// The service worker in a browser of fakes: what it shows, says to the server, and hands to the pages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { settled, stopClock } from "./support.mjs";
import { FakeBrowser, FakePage, browser, incoming, notice } from "./worker-support.mjs";

/** Lets time pass, and all that comes of it. */
async function pass(context, milliseconds) {
  for (const time of [0, milliseconds]) {
    if (time > 0) context.mock.timers.tick(time);
    for (let turn = 0; turn < 20; turn += 1) await settled();
  }
}

/** The requests' actions with their data. */
const actions = ({ requests }) => requests.map(({ action, data }) => [action, data]);

test("a call rings with the caller's name, and the server hears it with the capability of the push", async (context) => {
  stopClock(context);
  const its = await browser({ icon: "https://app.example.com/icon.png", texts: { incomingCall: "着信", decline: "拒否" } });
  await its.push(incoming());
  const { title, body, icon, silent, renotify, requireInteraction, actions: buttons } = its.only;
  assert.deepEqual([title, body, icon], ["花子", "着信", "https://app.example.com/icon.png"]);
  assert.deepEqual([silent, renotify, requireInteraction], [false, true, true]);
  assert.deepEqual(buttons.map(({ action, title: text }) => [action, text]), [["answer", "Answer"], ["decline", "拒否"]]);
  const [{ id, ...request }] = its.requests;
  assert.match(id, /^[\w-]{1,64}$/);
  assert.deepEqual(request, {
    method: "POST",
    url: "https://calls.example.com/ringline/api/calls/signal",
    authorization: "Ring capability",
    callId: "c-1",
    epoch: 1,
    action: "ringing",
    data: {},
  });
});

test("a call with video says so, and a caller without a name is shown by their id", async () => {
  const its = await browser();
  await its.push(incoming({ hasVideo: true, fromDisplayName: "" }));
  assert.deepEqual([its.only.title, its.only.body], ["10", "Incoming video call"]);
});

test("a second copy of a push makes no second sound, also after the worker was stopped", async () => {
  const its = await browser();
  await its.push(incoming());
  its.start();
  await its.push(incoming());
  assert.deepEqual(its.history.map(({ silent, renotify, vibrate }) => [silent, renotify, vibrate !== undefined]), [
    [false, true, true],
    [true, false, false],
  ]);
  assert.equal(its.shown.size, 1);
});

for (const [type, reason, text] of [
  ["call.missed", undefined, "Missed call"],
  ["call.over", "answered_elsewhere", "Answered on another device"],
  ["call.over", "declined_elsewhere", "Declined on another device"],
  ["call.over", "failed", "Call ended"],
]) {
  test(`${type} ${reason ?? ""} takes the place of the ring, quietly`, async (context) => {
    stopClock(context);
    const its = await browser();
    await its.push(incoming());
    const { tag } = its.only;
    await its.push(notice(type, { reason }));
    const { title, body, silent, requireInteraction, actions: buttons, data } = its.only;
    assert.deepEqual([its.only.tag, title, body, silent], [tag, "花子", text, true]);
    assert.deepEqual([requireInteraction, buttons, data.ringline.act], [undefined, undefined, undefined]);
    await pass(context, 5_000);
    assert.equal(its.shown.size, type === "call.missed" ? 1 : 0);
  });

  test(`${type} ${reason ?? ""} that overtakes the call keeps it from ringing`, async (context) => {
    stopClock(context);
    const its = await browser();
    await its.push(notice(type, { reason }));
    its.start();
    await its.push(incoming());
    assert.deepEqual(its.history.map(({ silent, body }) => [silent, body]), [[true, text], [true, text]]);
    assert.deepEqual(its.requests, []);
    // The callId may be used again.
    await its.push(incoming({ epoch: 2 }));
    assert.equal(its.history.at(-1).silent, false);
  });
}

test("the end of a call that comes while the call is being shown comes after it", async () => {
  const its = await browser();
  await Promise.all([its.push(incoming()), its.push(notice("call.over", { reason: "answered_elsewhere" }))]);
  assert.equal(its.only.body, "Answered on another device");
});

test("a push that comes too late is a missed call", async (context) => {
  stopClock(context);
  const its = await browser();
  await its.push(incoming({ ringUntil: Date.now() }));
  assert.deepEqual([its.only.body, its.only.silent], ["Missed call", true]);
  assert.deepEqual(its.requests, []);
  await its.tell({ type: "ringline.ready", user: "11" });
  assert.equal(its.only.body, "Missed call");
});

test("a clock that is fast does not make a call late, and a page that does not know it leaves it as it was", async () => {
  const its = await browser({ clockSkew: 60_000 });
  await its.tell({ type: "ringline.configure", settings: { user: "11", url: "https://calls.example.com/", clockSkew: null } });
  await its.push(incoming({ ringUntil: Date.now() - 30_000 }));
  assert.equal(its.only.body, "Incoming call");
});

test("two callers may use one callId", async () => {
  const its = await browser();
  await its.push(incoming());
  await its.push(incoming({ fromUserId: "12", fromDisplayName: "Jiro" }));
  await its.push(notice("call.over", { reason: "answered_elsewhere" }));
  const bodies = [...its.shown.values()].map(({ title, body }) => [title, body]);
  assert.deepEqual(bodies, [["花子", "Answered on another device"], ["Jiro", "Incoming call"]]);
});

test("a call of the user who was logged in before is not shown", async () => {
  const its = await browser({ user: "12" });
  await its.push(incoming());
  assert.deepEqual([its.history, its.requests], [[], []]);
});

test("a call that is over by the server's response stops ringing", async () => {
  for (const [response, text] of [
    [[200, { state: "ended", reason: "answered_elsewhere" }], "Answered on another device"],
    [[409, { code: "call_ended" }], "Call ended"],
  ]) {
    const its = await browser();
    its.respond = () => response;
    await its.push(incoming());
    assert.equal(its.only.body, text);
  }
});

test("a server that does not respond is asked again with the same id", async (context) => {
  stopClock(context);
  for (const first of [[0], [408, { code: "request_timeout" }]]) {
    const its = await browser();
    const responses = [first, [503, null], [404, { code: "not_found" }], [200, { state: "ringing" }]];
    its.respond = () => responses.shift();
    await its.push(incoming());
    await pass(context, 500);
    await pass(context, 1_500);
    await pass(context, 4_000);
    assert.equal(its.requests.length, 4);
    assert.equal(new Set(its.requests.map(({ id }) => id)).size, 1);
    assert.equal(its.only.body, "Incoming call");
  }
});

test("a device whose notifications are off tells the server so", async () => {
  const its = await browser();
  its.isPermitted = false;
  await its.push(incoming());
  assert.deepEqual(actions(its), [["ringing", { shown: false, why: "system" }]]);
});

test("where nothing shows notifications, the end of a call reaches the pages, and no push fails", async () => {
  const its = await browser();
  its.isPermitted = false;
  const page = new FakePage({ visibilityState: "visible" });
  its.pages = [page];
  for (const push of [notice("call.over", { reason: "declined_elsewhere" }), notice("call.missed", { epoch: 2 })]) {
    await its.push(push);
    assert.deepEqual(page.messages.at(-1).push, push);
  }
  await its.push({ type: "message", fromUserId: "10", sentAt: 1, body: "hello" });
  await its.push({ type: "test" });
  // A ring that comes late does not begin.
  await its.push(incoming());
  assert.deepEqual(actions(its), []);
});

test("a call rings without a database and without settings, too", async () => {
  const its = new FakeBrowser().start();
  its.database.isBroken = true;
  await its.push(incoming());
  assert.equal(its.only.body, "Incoming call");
  assert.deepEqual(its.requests, []);
  assert.equal(await its.tell({ type: "ringline.configure", settings: { user: "11" } }), false);
});

test("a click on decline ends the call and opens no page", async (context) => {
  stopClock(context);
  const its = await browser();
  its.pages = [new FakePage()];
  await its.push(incoming());
  await its.click(its.only, "decline");
  assert.deepEqual(actions(its).at(-1), ["end", { reason: "declined" }]);
  assert.equal(its.requests.at(-1).authorization, "Ring capability");
  assert.deepEqual([its.shown.size, its.opened, its.pages[0].focused], [0, [], 0]);
  await its.push(incoming());
  assert.deepEqual([its.only.silent, its.only.body], [true, "Call ended"]);
});

for (const action of ["answer", ""]) {
  test(`a click on ${action || "the notification"} hands the call to a page of the user`, async (context) => {
    stopClock(context);
    const its = await browser();
    await its.push(incoming());
    const [other, silent, own] = [new FakePage({ user: "12" }), new FakePage({ replies: false }), new FakePage()];
    its.pages = [other, silent, own];
    const click = its.click(its.only, action);
    await pass(context, 300);
    await click;
    assert.deepEqual(its.pages.map(({ focused }) => focused), [0, 0, 1]);
    const { push, type, device } = own.messages.at(-1);
    assert.deepEqual([type, push.callId, push.act, device], ["ringline.answer", "c-1", "capability", "web-a"]);
    assert.deepEqual([its.opened, its.shown.size], [[], 0]);
    assert.deepEqual(await its.tell({ type: "ringline.ready", user: "11" }), {});
  });
}

test("without a page, a click on answer opens one, which gets the call once", async (context) => {
  stopClock(context);
  const its = await browser();
  await its.push(incoming());
  await its.click(its.only, "answer");
  assert.deepEqual(its.opened, ["https://app.example.com/calls"]);
  its.start();
  assert.deepEqual(await its.tell({ type: "ringline.ready", user: "12" }), {});
  const { push, device } = await its.tell({ type: "ringline.ready", user: "11" });
  assert.deepEqual([push.callId, push.act, device], ["c-1", "capability", "web-a"]);
  assert.deepEqual(await its.tell({ type: "ringline.ready", user: "11" }), {});
});

test("a page that opens long after the click answers nothing", async (context) => {
  stopClock(context);
  const its = await browser();
  await its.push(incoming());
  await its.click(its.only, "answer");
  await pass(context, 120_001);
  assert.deepEqual(await its.tell({ type: "ringline.ready", user: "11" }), {});
});

test("a page that the user sees rings by itself, and others do not keep the notification quiet", async (context) => {
  stopClock(context);
  for (const [page, isSilent] of [
    [{ visibilityState: "visible" }, true],
    [{ visibilityState: "hidden" }, false],
    [{ visibilityState: "visible", user: "12" }, false],
  ]) {
    const its = await browser();
    its.pages = [new FakePage(page)];
    const pushed = its.push(incoming());
    await pass(context, 300);
    await pushed;
    assert.equal(its.only.silent, isSilent, JSON.stringify(page));
    const [{ type, push, device }] = its.pages[0].messages;
    assert.deepEqual([type, push.act, device], ["ringline.push", "capability", "web-a"]);
    assert.equal(its.requests.length, isSilent ? 0 : 1);
  }
});

test("a call that a page has answered or ended no longer rings", async () => {
  const its = await browser();
  await its.push(incoming());
  await its.push(incoming({ callId: "c-2" }));
  await its.tell({ type: "ringline.settled", call: { callId: "c-1", fromUserId: "10", epoch: 1 } });
  assert.equal(its.only.data.ringline.callId, "c-2");
  await its.push(incoming());
  assert.equal(its.history.at(-1).silent, true);
});

test("a page that opens closes what is over, and leaves missed calls", async (context) => {
  stopClock(context);
  const its = await browser();
  await its.push(incoming());
  await its.push(incoming({ callId: "c-2", ringUntil: Date.now() + 90_000 }));
  await its.push(notice("call.missed", { callId: "c-3" }));
  its.start();
  await pass(context, 45_000);
  await its.tell({ type: "ringline.ready", user: "11" });
  assert.deepEqual([...its.shown.values()].map(({ data }) => data.ringline.callId), ["c-2", "c-3"]);
});

test("a text and a test are shown, and a click opens the app", async () => {
  const its = await browser();
  await its.push({ type: "message", fromUserId: "10", fromDisplayName: "花子", body: "もしもし", sentAt: 1 });
  assert.deepEqual([its.only.title, its.only.body], ["花子", "もしもし"]);
  await its.click(its.only);
  assert.deepEqual([its.opened.length, its.shown.size, its.requests], [1, 0, []]);
  await its.push({ type: "test" });
  assert.equal(its.only.title, "Calls can reach this browser");
});

test("pushes, clicks and messages of the app's own are left to the app", async () => {
  const its = await browser();
  for (const payload of ["no JSON", "null", "[]", "7", '"x"', "{}", '{"type":"news"}', '{"type":"toString"}']) {
    await its.push(payload);
  }
  await its.dispatch("push", { data: null });
  const own = { data: null, close: () => assert.fail("closed") };
  await its.click(own);
  await its.dispatch("message", { data: { type: "skipWaiting" }, ports: [] });
  await its.dispatch("message", { data: null, ports: [] });
  assert.deepEqual([its.history, its.opened], [[], []]);
});

test("after a logout nothing is left", async () => {
  const its = await browser();
  await its.push(incoming());
  assert.equal(await its.tell({ type: "ringline.forget" }), true);
  assert.deepEqual([its.shown.size, its.database.values.size], [0, 0]);
  assert.equal(await its.tell({ type: "ringline.forget" }), false);
});

test("a subscription that the push service has ended is made again, and the pages register it", async () => {
  const its = await browser();
  its.pages = [new FakePage()];
  await its.dispatch("pushsubscriptionchange", { oldSubscription: null });
  assert.deepEqual(its.subscriptions, [{ userVisibleOnly: true, applicationServerKey: "BKey" }]);
  const renewed = { toJSON: () => ({ endpoint: "https://push.example.com/3" }) };
  await its.dispatch("pushsubscriptionchange", { newSubscription: renewed });
  assert.equal(its.subscriptions.length, 1);
  assert.deepEqual(its.pages[0].messages, [
    { type: "ringline.subscription", user: "11", subscription: { endpoint: "https://push.example.com/2" } },
    { type: "ringline.subscription", user: "11", subscription: { endpoint: "https://push.example.com/3" } },
  ]);
});

test("a scheduled call shows the name of its schedule, and Decline ends it", async (context) => {
  stopClock(context);
  const its = await browser();
  await its.push(incoming({ scheduled: true, fromUserId: "wake", fromDisplayName: "Mina", handle: "+82", data: { n: 1 } }));
  assert.deepEqual([its.only.title, its.only.body, its.only.silent], ["Mina", "Incoming call", false]);
  await its.click(its.only, "decline");
  assert.deepEqual(actions(its), [["ringing", {}], ["end", { reason: "declined" }]]);
  assert.equal(its.shown.size, 0);
});

test("Answer hands a scheduled call to a page with its data", async () => {
  const its = await browser();
  const page = new FakePage();
  its.pages.push(page);
  await its.push(incoming({ scheduled: true, fromUserId: "wake", fromDisplayName: "Mina", data: { n: 1 } }));
  await its.click(its.only, "answer");
  const { push } = page.messages.find(({ type }) => type === "ringline.answer");
  assert.deepEqual([push.scheduled, push.data], [true, { n: 1 }]);
});
