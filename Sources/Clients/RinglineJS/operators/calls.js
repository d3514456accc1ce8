// What the page asks the admin listener for, always with GET: calls with their verdicts, and a call's timeline.

/** The number of calls that one request returns at most. */
export const MOST = 50;

/** Returns what is wrong now, the live calls, and the newest ones that have ended. */
export function overview(options) {
  return get("/api/overview", { limit: MOST }, options);
}

/** Returns a user's calls, newest first: those before the call with the number `before`, or the newest ones. */
export function ofUser(user, before, options) {
  return get("/api/calls", before === undefined ? { user, limit: MOST } : { user, limit: MOST, before }, options);
}

/** Returns the newest calls under a callId. */
export function underCallId(callId, options) {
  return get("/api/namesakes", { callId, limit: MOST }, options);
}

/** Returns the timeline of a call, with its verdict. */
export function timeline({ callId, caller, callee, epoch }, options) {
  return get("/api/timeline", { callId, user: caller, peer: callee, epoch }, options);
}

async function get(path, query, { token, signal }) {
  // A header takes no other characters, and no token has them.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error("This is no token: it has blanks or letters that no token has.");
  const request = fetch(`${path}?${new URLSearchParams(query)}`, { headers: { Authorization: `Bearer ${token}` }, signal });
  const response = await request.catch((error) => {
    throw signal.aborted ? error : new Error("The server cannot be reached.");
  });
  if (response.ok) return response.json();
  if (response.status === 404) throw new Error("There is no such call.");
  // A proxy's refusal may be no JSON.
  const problem = await response.json().catch(() => ({}));
  throw new Error(`${response.status}: ${problem.message ?? response.statusText}`);
}
