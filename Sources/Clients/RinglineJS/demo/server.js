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

/** Returns a call with its ladder and its verdict; `null` = the server has not stored it yet. */
export async function call(callId, epoch) {
  const response = await fetch(`/demo/call?${new URLSearchParams({ callId, epoch })}`);
  return response.ok ? response.json() : null;
}

/** Tells the server that a push has woken a device for a call. */
export async function woken(device, callId) {
  await fetch(`/demo/woken?${new URLSearchParams({ device, callId })}`);
}

/** Forgets what an earlier page has left: a user's devices, and their do-not-disturb. */
export async function clear(user) {
  const bearer = await token(user);
  const response = await fetch("/api/me/devices", { headers: { Authorization: `Bearer ${bearer}` } });
  for (const { deviceId } of await response.json()) await remove(`/api/me/devices/${deviceId}`, bearer);
  await put("/api/me/dnd", bearer, { until: null });
}
