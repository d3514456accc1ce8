import CallCore
import CallWire
import DequeModule

/// One connection of a device.
final class Session {
    let id: SessionID
    /// Who it is; renewed by `auth`.
    var who: Who
    /// The device, with the token that it came with last.
    var phone: Phone
    /// Whether the device is named by the client, or lives as long as the connection.
    let isNamed: Bool
    /// When anything last came from it.
    var heardAt: Moment
    /// When it was last pinged.
    var pingedAt: Moment
    /// Since when it owes a sign of life because a call came.
    var probedAt: Moment?
    /// For when the heap holds a timer for it.
    var scheduledAt: Moment?
    /// The number of the last ping that it was sent; they count from 1.
    var pings: UInt64 = 0
    /// Calls whose end was written to it, each with the number of the ping whose pong will show that it arrived.
    var news: [(call: CallNumber, side: Side, ping: UInt64)] = []
    /// Whether it watches users of whom the store could not say whether its own one knows them.
    var hasUnknownPeers = false
    /// Whether it may have to be told of calls at rest that the store could not read.
    var hasUnreadNews = false
    /// Texts that were written to it, each with the number of such a ping.
    var texts: [(text: RelayedText, ping: UInt64)] = []
    /// How many of either are kept.
    static let mostUnconfirmed = 64
    /// Bytes written to it that may still be on their way.
    var backlog = Backlog()
    /// After how many bytes it is pinged, so that a pong shows what has arrived.
    static let confirmedEvery = 32 * 1_024
    /// Whether ``backlog`` is over the policy's limit.
    var isBacklogged = false
    /// The logs and frames that it is still to be sent, in order.
    var replays = Deque<Replay>()
    /// How many of those may wait because of `sync`.
    static let mostReplays = 1_024
    /// The users whose coming and going it wants to know.
    var watched: Set<UserID> = []
    /// Whether its client keeps no place in a log, and takes nothing twice.
    let keepsNoPlace: Bool
    /// The rooms it is present in, each by the name that it used for it: a pair's can be written in two ways.
    var rooms: [RoomKey: String] = [:]
    /// What it may still send.
    var bucket: TokenBucket
    /// Signs of life, other than frames, since it was last pinged.
    var signs = 0
    /// How many of those it may give: it owes one, and some clients send pongs of their own accord.
    static let mostSigns = 1_000
    /// Frames refused for being too fast.
    var refused = 0
    /// Frames in a row that were no JSON.
    var bad = 0

    init(id: SessionID, who: Who, phone: Phone, isNamed: Bool, keepsNoPlace: Bool, bucket: TokenBucket, at now: Moment)
    {
        self.id = id
        self.who = who
        self.phone = phone
        self.isNamed = isNamed
        self.keepsNoPlace = keepsNoPlace
        self.bucket = bucket
        heardAt = now
        pingedAt = now
    }

    var user: UserID { who.user }

    /// Whether a call's log is still being replayed to it.
    func replays(_ call: CallNumber) -> Bool { !replays.isEmpty && replays.contains { $0.call == call } }
}
