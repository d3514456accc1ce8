// Adapts a later description of the peer: removes or replaces what a browser would refuse.

const SETUP = /^a=setup:(actpass|active|passive)/m;
const FINGERPRINT = /^a=fingerprint:\S+ (\S+)/m;
const EXTENSION = /^a=extmap:(\d+)(?:\/\S+)? (\S+).*\r?\n/gm;
const OPPOSITE = { active: "passive", passive: "active" };

/** The descriptions of one connection, as far as a later one must agree with those before it. */
export class Descriptions {
  /** What each id of a header extension has stood for in this side's descriptions, also in those that were rolled back. */
  #extensions = new Map();

  /** Takes note of a description of this side. */
  made(sdp) {
    for (const [, id, uri] of sdp.matchAll(EXTENSION)) if (!this.#extensions.has(id)) this.#extensions.set(id, uri);
  }

  /** Returns a description of the peer in a form that this connection accepts. */
  acceptable({ type, sdp }, connection) {
    const withRoles = keepingRoles(sdp, connection);
    return { type, sdp: type === "offer" ? this.#withoutCollisions(withRoles) : withRoles };
  }

  /**
   * Leaves out header extensions whose ids stand for others here: Chromium refuses to give an id another meaning, also after
   * a rollback. The answer then leaves them out as well, and media pass without them.
   */
  #withoutCollisions(sdp) {
    return sdp.replace(EXTENSION, (line, id, uri) => ((this.#extensions.get(id) ?? uri) === uri ? line : ""));
  }
}

/**
 * States the roles in DTLS that are in force. A later offer says `actpass`, and browsers read that differently: Firefox
 * answers it with `active` although it was `passive`, and Chromium then refuses the answer, because the DTLS connection goes
 * on. A description with another fingerprint begins a new one, and is left as it is.
 */
function keepingRoles(sdp, { currentLocalDescription: local, currentRemoteDescription: remote }) {
  if (!local || !remote) return sdp;
  const isOurs = remote.type !== "answer";
  const roles = valuesIn(isOurs ? local.sdp : remote.sdp, SETUP).map((role) => (isOurs ? OPPOSITE[role] : role));
  const prints = valuesIn(remote.sdp, FINGERPRINT);
  const first = roles.findIndex((role) => role !== undefined);
  const bundled = /^a=group:BUNDLE (.*?)\r?$/m.exec(sdp)?.[1].split(" ") ?? [];
  const [session, ...media] = partsOf(sdp);
  const kept = media.map((part, index) => {
    // A further medium of a bundle shares the connection of the first one.
    const isNew = roles[index] === undefined;
    const place = isNew && bundled.includes(/^a=mid:(\S+)/m.exec(part)?.[1]) ? first : index;
    const print = FINGERPRINT.exec(part) ?? FINGERPRINT.exec(session);
    if (roles[place] === undefined || print?.[1] !== prints[place]) return part;
    return part.replace(SETUP, `a=setup:${roles[place]}`);
  });
  return [session, ...kept].join("");
}

/** Returns the part of the whole session, and then that of each medium. */
const partsOf = (sdp) => sdp.split(/^(?=m=)/m);

/** Returns the value of each medium, or the session's for a medium without one. */
function valuesIn(sdp, pattern) {
  const [session, ...media] = partsOf(sdp);
  return media.map((part) => (pattern.exec(part) ?? pattern.exec(session))?.[1]);
}
