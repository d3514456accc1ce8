// The operators' page: a search, the calls that it finds, and the ladder of one of them.
//
// Names and ids come from strangers. Every text is inserted as a text, and the policy of the page allows nothing else.
import { Ladder, element } from "/page/ladder.js";
import * as calls from "./calls.js";

const part = (id) => document.getElementById(id);
const heads = [...document.querySelectorAll("th")].map((head) => head.textContent);
const [form, kind, wanted, token] = ["search", "kind", "wanted", "token"].map(part);
// The search under way, and the request for a ladder under way; a newer one ends them.
let search = new AbortController();
let opening = new AbortController();

form.onsubmit = (event) => {
  event.preventDefault();
  const text = wanted.value.trim();
  const hash = text === "" ? "" : `#${new URLSearchParams({ [kind.value]: text })}`;
  // A new address searches by itself, so that the browser's Back button works.
  if (location.hash === hash) begin();
  else location.hash = hash;
};
window.onhashchange = begin;
part("calls").onkeydown = (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const buttons = [...part("calls").querySelectorAll("button")];
  const next = buttons[buttons.indexOf(document.activeElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
};
begin();

/** Begins the search that the address names, once there is a token for it. */
async function begin() {
  search.abort();
  opening.abort();
  search = new AbortController();
  const query = new URLSearchParams(location.hash.slice(1));
  const name = ["user", "callId"].find((each) => query.has(each));
  part("found").hidden = part("call").hidden = part("wrong").hidden = true;
  part("calls").replaceChildren();
  if (name !== undefined) kind.value = name;
  wanted.value = name === undefined ? "" : query.get(name);
  if (token.value === "") {
    say("Give a token to see the live and the newest calls, and what is wrong now.");
    return token.focus();
  }
  if (name === undefined) return look();
  part("found-title").textContent = name === "user" ? `Calls of ${wanted.value}` : `Calls with the callId ${wanted.value}`;
  await list(name, wanted.value);
}

/** Shows what is wrong now, the live calls, and the newest ones that have ended. */
async function look() {
  say("Reading the newest calls…");
  const found = await answer(search.signal, (options) => calls.overview(options));
  if (found === undefined) return;
  const { faults, live, ended } = found;
  part("faults").replaceChildren(...(faults.length === 0 ? ["Nothing that the calls show."] : faults).map((text) => element("li", "", text)));
  part("wrong").dataset.look = faults.length === 0 ? "" : "bad";
  part("wrong").hidden = false;
  part("found-title").textContent = "Live calls and the newest ones";
  part("calls").append(...[...live, ...ended].map(row));
  part("found").hidden = part("calls").childElementCount === 0;
  part("more").hidden = true;
  say(`Live calls: ${live.length}. The newest ended calls: ${ended.length}. Search for a user or a callId to see others.`);
}

/** Lists the calls of a user, or under a callId; `before` is the number of the oldest call that is shown. */
async function list(name, text, before) {
  const { signal } = search;
  part("more").hidden = true;
  say(before === undefined ? "Searching…" : "Searching older calls…");
  const found = await answer(signal, (options) =>
    name === "user" ? calls.ofUser(text, before, options) : calls.underCallId(text, options),
  );
  if (found === undefined) {
    // The button that failed is there for another try.
    part("more").hidden = before === undefined || signal.aborted;
    return;
  }
  const rows = found.map(row);
  part("calls").append(...rows);
  const count = part("calls").childElementCount;
  const isFull = found.length === calls.MOST;
  part("found").hidden = count === 0;
  if (count === 0) say(name === "user" ? "This user has had no call in the last 30 days." : "There is no such call.");
  else if (name === "user") say(`${count} calls${isFull ? ", and older ones" : ""}.`);
  else say(`${isFull ? "The newest " : ""}${count} calls.${isFull ? " Search for a user to see older ones." : ""}`);
  part("more").hidden = name !== "user" || !isFull;
  part("more").onclick = () => list(name, text, found.at(-1).id);
  if (before !== undefined) rows[0]?.querySelector("button").focus();
}

function row(call) {
  const line = element("tr");
  const pick = element("button", "id", call.callId);
  pick.type = "button";
  const caller = element("span", "id", call.caller);
  const name = call.displayName === undefined ? [] : [element("bdi", "name", call.displayName)];
  const epoch = call.epoch === 1 ? [] : [element("span", "epoch", `epoch ${call.epoch}`)];
  const began = element("time", "", moment(call.startedAt));
  began.dateTime = new Date(call.startedAt).toISOString();
  const cells = [
    [began],
    [...name, caller],
    [element("span", "id", call.callee)],
    [call.outcome],
    [call.verdict.join(" ")],
    [pick, ...epoch],
  ];
  for (const [index, contents] of cells.entries()) {
    const cell = element("td");
    cell.dataset.head = heads[index];
    const box = element("div");
    box.append(...contents);
    cell.append(box);
    line.append(cell);
  }
  line.onclick = () => {
    // Whoever drags over a verdict wants to copy it.
    if (getSelection().isCollapsed) open(call, line);
  };
  return line;
}

/** Brings the row of a call up to date: a live call may have ended since the search. */
function update(line, { outcome, verdict }) {
  const [shown, sentences] = [...line.cells].slice(3).map((cell) => cell.firstChild);
  shown.textContent = outcome;
  sentences.textContent = verdict.join(" ");
}

/** Shows the ladder and the verdict of a call. */
async function open(call, line) {
  opening.abort();
  opening = new AbortController();
  for (const other of part("calls").children) other.removeAttribute("aria-current");
  line.setAttribute("aria-current", "true");
  const before = [...part("message").childNodes];
  part("call").hidden = true;
  say("Reading the call…");
  const shown = await answer(opening.signal, (options) => calls.timeline(call, options));
  if (shown === undefined) return;
  say(...before);
  update(line, shown);
  const ladder = new Ladder();
  ladder.show({ ...shown, isOver: true });
  // A name may be written from right to left, and must not turn round what follows it.
  const name = call.displayName === undefined ? [call.caller] : [element("bdi", "", call.displayName), ` (${call.caller})`];
  const who = element("p");
  who.append(...name, ` calls ${call.callee}, ${call.hasVideo ? "video" : "audio"}, ${moment(call.startedAt)}: ${shown.outcome}`);
  part("call").replaceChildren(element("h2", "", `Call ${call.callId}, epoch ${call.epoch}`), who, ladder.element);
  part("call").hidden = false;
  part("call").scrollIntoView({ block: "nearest" });
}

/** Returns the result of a request, or `undefined` if a newer one has ended it or it was refused. */
async function answer(signal, request) {
  try {
    return await request({ token: token.value.trim().replace(/^Bearer\s+/i, ""), signal });
  } catch (error) {
    if (signal.aborted) return undefined;
    say(error.message);
    part("message").dataset.look = "bad";
    part("message").scrollIntoView({ block: "nearest" });
    return undefined;
  }
}

/** Shows a message: texts, or nodes. */
function say(...contents) {
  part("message").replaceChildren(...contents);
  part("message").dataset.look = "";
}

/** Returns a moment as `ringline explain` shows it, in UTC and without milliseconds. */
function moment(milliseconds) {
  return new Date(milliseconds).toISOString().replace("T", " ").replace(/\.\d+/, "");
}
