// The page of `ringline demo`: two phones, and the ladder of their calls.
import { Ladders } from "./ladder.js";
import { Phone } from "./phone.js";
import * as server from "./server.js";

const LOOKS = [
  { colour: "#b3382c", hertz: 440 },
  { colour: "#1f5fae", hertz: 990 },
];
// A push is with the page's server before its event is here; one more look is for a slow machine.
const PUSH_RETRY = 200;

const option = (id) => document.getElementById(id);
const { users, hasTURN } = await server.settings();
const people = users.map((user, index) => ({
  ...user,
  ...LOOKS[index],
  device: `phone-${user.name.toLowerCase()}`,
  pushToken: `a${index}`.repeat(32),
}));

const rtcConfiguration = {};
option("turn-option").hidden = !hasTURN;
option("turn").onchange = () => {
  rtcConfiguration.iceTransportPolicy = option("turn").checked ? "relay" : "all";
};
const options = {
  usesReal: () => option("real").checked,
  wantsVideo: () => option("video").checked,
  rtcConfiguration,
};
const [taro, hanako] = people;
const phones = new Map([
  [taro.device, new Phone(option("left"), taro, hanako, options)],
  [hanako.device, new Phone(option("right"), hanako, taro, options)],
]);
const both = [...phones.values()];

option("sound").onchange = () => {
  for (const video of document.querySelectorAll("video.remote")) video.muted = !option("sound").checked;
};
option("glare").onclick = () => {
  for (const phone of both) phone.dial();
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=checkbox])")) return;
  if (event.key === "1" || event.key === "2") both[event.key - 1].pressMain();
  if (event.key === "q" || event.key === "w") both["qw".indexOf(event.key)].press("end");
});

const ladders = new Ladders(option("calls"), people);
await server.watch(async (event) => {
  option("hint").hidden = true;
  ladders.add(event);
  const phone = phones.get(event.device);
  if (event.event !== "push.sent" || phone === undefined) return;
  let hasWoken = await phone.fetchPushes();
  if (!hasWoken) {
    await new Promise((done) => setTimeout(done, PUSH_RETRY));
    hasWoken = await phone.fetchPushes();
  }
  if (hasWoken) ladders.woken(event.callId, people.find((user) => user.device === event.device).id);
});
for (const phone of both) await phone.boot();
window.demo = { phones: both, isReady: true };
