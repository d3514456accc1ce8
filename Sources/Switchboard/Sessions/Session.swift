import CallCore
import CallWire

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
    /// Texts that were written to it, each with the number of such a ping.
    var texts: [(text: RelayedText, ping: UInt64)] = []
    /// How many of either are kept.
    static let mostUnconfirmed = 64
    /// The users whose coming and going it wants to know.
    var watched: Set<UserID> = []
    /// Whether its client keeps no place in a log, and takes nothing twice.
    let keepsNoPlace: Bool
    /// The rooms it is present in, each by the name that it used for it: a pair's can be written in two ways.
    var rooms: [RoomKey: String] = [:]
    /// What it may still send.
    var bucket: TokenBucket
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
}

/// So many at once, so many a second after that.
struct TokenBucket {
    private let perSecond: Double
    private let burst: Double
    private var level: Double
    private var filledAt: Moment

    init(perSecond: Double, burst: Int, at now: Moment) {
        self.perSecond = perSecond
        self.burst = Double(burst)
        level = Double(burst)
        filledAt = now
    }

    /// Takes one, if there is one.
    mutating func take(at now: Moment) -> Bool {
        fill(at: now)
        guard level >= 1 else { return false }
        level -= 1
        return true
    }

    /// After how many whole seconds there will be one again.
    var secondsUntilNext: Int { max(1, Int(((1 - level) / perSecond).rounded(.up))) }

    /// Whether it holds all it can: then it can be forgotten.
    mutating func isFull(at now: Moment) -> Bool {
        fill(at: now)
        return level >= burst
    }

    private mutating func fill(at now: Moment) {
        // A clock that was set back gives nothing and takes nothing.
        let elapsed = max(0, (now - filledAt).milliseconds)
        level = min(burst, level + Double(elapsed) / 1_000 * perSecond)
        filledAt = now
    }
}
