// What the page asks the admin listener for, always with GET: calls with their verdicts, and a call's timeline.

/** The number of calls that one request returns at most. */
export const MOST = 50;

/** Returns a user's calls, newest first: those before the call with the number `before`, or the newest ones. */
export function ofUser(user, before, options) {
  const query = new URLSearchParams({ user, limit: MOST });
  if (before !== undefined) query.set("before", before);
  return get(`/api/calls?${query}`, options);
}

/** Returns the newest calls under a callId. */
export function underCallId(callId, options) {
  return get(`/api/calls/${encodeURIComponent(callId)}?limit=${MOST}`, options);
}

/** Returns the timeline of a call, with its verdict. */
export function timeline({ callId, caller, callee, epoch }, options) {
  const query = new URLSearchParams({ user: caller, peer: callee, epoch });
  return get(`/api/calls/${encodeURIComponent(callId)}/timeline?${query}`, options);
}

async function get(path, { token, signal }) {
  const response = await fetch(path, { headers: { Authorization: `Bearer ${token}` }, signal });
  if (response.ok) return response.json();
  // A text with a slash, which no callId has, is another path.
  if (response.status === 404) throw new Error("There is no such call.");
  // A proxy's refusal may be no JSON.
  const problem = await response.json().catch(() => ({}));
  throw new Error(`${response.status}: ${problem.message ?? response.statusText}`);
}
