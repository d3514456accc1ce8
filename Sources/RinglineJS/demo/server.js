// What the page asks the demo's server for: tokens, pushes, and the events of all calls.

/** Returns the users, and whether there is a TURN server. */
export async function settings() {
  return (await fetch("/demo/settings")).json();
}

/** Returns a token of a user, or a service's for none. */
export async function token(user, seconds) {
  const query = new URLSearchParams();
  if (user !== undefined) query.set("user", user);
  if (seconds !== undefined) query.set("seconds", seconds);
  return (await fetch(`/demo/token?${query}`)).text();
}

/** Returns the pushes to a device, each with `kind` and `payload`. */
export async function pushes(pushToken) {
  return (await fetch(`/demo/pushes?token=${pushToken}`)).json();
}

/** Lets the server hear nothing of what a device sends, or hear it again. */
export async function silence(device, isOn) {
  await fetch(`/demo/silence?device=${device}&on=${isOn}`);
}

/** Removes something of the API as a user. */
export async function remove(path, bearer) {
  return fetch(path, { method: "DELETE", headers: { Authorization: `Bearer ${bearer}` } });
}

/** Sends a request of the API as a user, with a JSON body. */
export async function put(path, bearer, body) {
  const headers = { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" };
  return fetch(path, { method: "PUT", headers, body: JSON.stringify(body) });
}

/** Calls `report` with each event of each call, while it happens. */
export async function watch(report) {
  const bearer = await token();
  const socket = new WebSocket(`ws://${location.host}/ws?device=page`, ["ringline.v1", `bearer.${bearer}`]);
  await new Promise((done) => {
    socket.onmessage = ({ data }) => {
      const frame = JSON.parse(data);
      if (frame.type === "welcome") socket.send(JSON.stringify({ type: "watch", id: "all" }));
      if (frame.type === "ack") done();
      if (frame.type === "timeline") report(frame);
    };
  });
}

/** Returns the server's verdict on a call, as sentences. */
export async function verdict({ callId, epoch }) {
  const headers = { Authorization: `Bearer ${await token()}` };
  const response = await fetch(`/api/calls/${encodeURIComponent(callId)}/timeline?epoch=${epoch}`, { headers });
  return (await response.json()).verdict;
}
