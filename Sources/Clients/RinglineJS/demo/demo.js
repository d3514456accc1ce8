// The page of `ringline demo`: two phones, a second device of each user, and the ladder of their calls.
import { Ladders } from "./ladders.js";
import { Phone } from "./phone.js";
import * as server from "./server.js";

// The devices of the page, the phones first. A column of the keyboard belongs to each.
const DEVICES = [
  { side: "left", kind: "phone", colour: "#b3382c", hertz: 440, keys: { main: "1", end: "q", suspend: "a" } },
  { side: "right", kind: "phone", colour: "#1f5fae", hertz: 990, keys: { main: "2", end: "w", suspend: "s" } },
  { side: "left", kind: "tablet", colour: "#8a5a12", hertz: 550, keys: { main: "3", end: "e", suspend: "d" } },
  { side: "right", kind: "tablet", colour: "#2f6f4f", hertz: 1240, keys: { main: "4", end: "r", suspend: "f" } },
];
const SIDES = ["left", "right"];
// The colours of the two users.
const COLOURS = ["#b3382c", "#1f5fae"];
const SECOND_KEYS = { z: "left", x: "right" };
// A push is with the page's server before its event is here; one more look is for a slow machine.
const PUSH_RETRY = 200;

const option = (id) => document.getElementById(id);
const { users, hasTURN } = await server.settings();
const people = users.map((user, index) => ({ ...user, colour: COLOURS[index], settings: { hasFocus: false } }));
const devices = DEVICES.map((device, index) => {
  const user = people[SIDES.indexOf(device.side)];
  const title = `${user.name}'s ${device.kind}`;
  const { id: name } = user.devices.find(({ kind }) => kind === device.kind);
  return { ...user, ...device, title, device: name, pushToken: `a${index}`.repeat(32) };
});

const rtcConfiguration = {};
option("turn-option").hidden = !hasTURN;
option("turn").onchange = () => {
  rtcConfiguration.iceTransportPolicy = option("turn").checked ? "relay" : "all";
};
/** The phones and tablets that are on the page, by the name of the device. */
const phones = new Map();
const options = {
  usesReal: () => option("real").checked,
  wantsVideo: () => option("video").checked,
  wantsTone: () => option("tone").checked,
  rtcConfiguration,
  showAll: () => {
    for (const phone of phones.values()) phone.show();
  },
};

function add(root, own) {
  const peer = people[1 - SIDES.indexOf(own.side)];
  const phone = new Phone(root, own, peer, options);
  phones.set(own.device, phone);
  setSound();
  return phone;
}

/** Gives a user a second device, or takes it away. */
async function toggleSecond(side) {
  const own = devices.find((device) => device.side === side && device.kind !== "phone");
  const button = option(`${side}-more`);
  const phone = phones.get(own.device);
  button.setAttribute("aria-pressed", phone === undefined);
  if (phone !== undefined) {
    phones.delete(own.device);
    option(`${side}-second`).remove();
    return phone.remove();
  }
  const root = document.createElement("section");
  Object.assign(root, { id: `${side}-second`, className: "phone second" });
  button.before(root);
  return add(root, own).boot();
}

function setSound() {
  for (const video of document.querySelectorAll("video.remote")) video.muted = !option("sound").checked;
}

function pressKey(key) {
  if (key in SECOND_KEYS) return toggleSecond(SECOND_KEYS[key]);
  for (const { device, keys } of devices) {
    const phone = phones.get(device);
    if (phone === undefined) continue;
    if (key === keys.main) phone.pressMain();
    if (key === keys.end) phone.press("end");
    if (key === keys.suspend) phone.fail("suspend");
  }
}

const both = SIDES.map((side, index) => add(option(side), devices[index]));
for (const side of SIDES) option(`${side}-more`).onclick = () => toggleSecond(side);
option("sound").onchange = setSound;
option("tone").onchange = options.showAll;
option("glare").onclick = () => {
  for (const phone of both) phone.press("call");
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.matches("input:not([type=checkbox])")) return;
  pressKey(event.key);
});

// The three things to try.
const steps = {
  call: () => both[0].press("call"),
  kill: async () => {
    if (both[1].ringline !== null) await both[1].fail("kill");
    both[0].press("call");
  },
  refuse: async () => {
    await both[1].fail("refuse");
    await steps.kill();
  },
};
for (const button of document.querySelectorAll("[data-step]")) button.onclick = () => steps[button.dataset.step]();

const ladders = new Ladders(option("calls"), people);
option("lifelines").append(ladders.empty());
// A page that was reloaded has left its devices registered.
for (const { id } of people) await server.clear(id);
await server.watch(async (event) => {
  option("first").hidden = true;
  ladders.add(event);
  const phone = phones.get(event.device);
  if (event.event !== "push.sent" || phone === undefined) return;
  let hasWoken = await phone.fetchPushes();
  if (!hasWoken) {
    await new Promise((done) => setTimeout(done, PUSH_RETRY));
    hasWoken = await phone.fetchPushes();
  }
  if (hasWoken) ladders.woken(event);
});
for (const phone of both) await phone.boot();
window.demo = { phones: both, ladders, isReady: true };
