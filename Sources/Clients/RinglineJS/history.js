// The user's calls so far, as the server lists them (protocol, section 5.6).

/** Gets calls of the history, newest first: at most `limit`, and only those before the call with the number `before`. */
export async function history(server, limit, before) {
  const query = new URLSearchParams({ limit });
  if (before !== undefined) query.set("before", before);
  const list = await server.ask("GET", `api/calls?${query}`);
  if (!Array.isArray(list)) throw new TypeError("api/calls: the response is no history");
  return list.map(pastCall);
}

function pastCall(call) {
  const { id, callId, epoch, direction, hasVideo, reason, startedAt, answeredAt, endedAt, scheduled } = call;
  // The server writes a user id as a number if the token does.
  const [caller, callee] = [String(call.caller_id), String(call.callee_id)];
  const peer = direction === "outgoing" ? callee : caller;
  const schedule = scheduled?.schedule ?? null;
  return {
    id, callId, epoch, caller, callee, peer, direction, hasVideo, reason: reason ?? null, startedAt,
    answeredAt: answeredAt ?? null, endedAt: endedAt ?? null, schedule,
  };
}
