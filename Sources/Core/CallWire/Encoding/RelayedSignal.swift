public import CallCore
import JSON

/// The members that the server writes around a signal's own bytes when it relays the signal (protocol, section 3).
public enum RelayedSignal {
    /// The values that the server computes for an offer (protocol, section 3.4).
    public struct OfferExtras: Equatable, Sendable {
        /// Whether the call has video.
        public var hasVideo: Bool
        /// The caller's display name.
        public var displayName: String?
        /// The UUID by which CallKit identifies the call.
        public var callUUID: String
        /// The time at which the ringing stops.
        public var ringUntil: Moment
        /// Whether the callee is in another call.
        public var isWaiting: Bool
        /// Whether the server itself begins the call, as a schedule asks; the offer then has no description.
        public var isScheduled: Bool

        /// Creates the values from all their parts.
        public init(
            hasVideo: Bool,
            displayName: String?,
            callUUID: String,
            ringUntil: Moment,
            isWaiting: Bool,
            isScheduled: Bool = false
        ) {
            self.hasVideo = hasVideo
            self.displayName = displayName
            self.callUUID = callUUID
            self.ringUntil = ringUntil
            self.isWaiting = isWaiting
            self.isScheduled = isScheduled
        }
    }

    /// Writes the frame of a signal from all its parts.
    ///
    /// - Parameters:
    ///   - kind: The kind of the signal.
    ///   - id: The `id` that the device gave the signal; `nil` if it gave none.
    ///   - position: The position of the signal in its call's log.
    ///   - sender: The user and the device that sent the signal.
    ///   - offer: The values that the server computed for an offer; `nil` for another kind.
    ///   - reason: The reason that the server set for an `end`; `nil` for another kind.
    ///   - relayed: The sender's own members.
    /// - Returns: Headroom, then one JSON object that ends with the sender's own members, unchanged.
    public static func frame(
        _ kind: SignalKind,
        id: SignalID?,
        at position: LogPosition,
        from sender: EncodedSender,
        offer: OfferExtras? = nil,
        reason: EndReason? = nil,
        around relayed: RelayedMembers
    ) -> [UInt8] {
        var json = beginning(kind, id: id, at: position, from: sender, relayed.byteCount + (offer == nil ? 96 : 352))
        if let offer { json.write(offer) }
        if let reason {
            json.name("reason")
            json.plain(reason.rawValue)
        }
        json.write(relayed)
        json.endObject()
        return json.bytes
    }

    /// Returns the frame of a signal that is only relayed.
    ///
    /// The other frames have parts whose types cost some hundred instructions even where they are absent.
    public static func frame(
        relaying kind: SignalKind,
        id: SignalID?,
        at position: LogPosition,
        from sender: EncodedSender,
        around relayed: RelayedMembers
    ) -> [UInt8] {
        var json = beginning(kind, id: id, at: position, from: sender, relayed.byteCount + 96)
        json.write(relayed)
        json.endObject()
        return json.bytes
    }

    /// Returns the frame of a signal that is only relayed, again, around the bytes of its ``RelayedMembers``.
    public static func frame(
        relaying kind: SignalKind,
        id: SignalID?,
        at position: LogPosition,
        from sender: EncodedSender,
        around members: ArraySlice<UInt8>
    ) -> [UInt8] {
        var json = beginning(kind, id: id, at: position, from: sender, members.count + 96)
        json.rawMembers(members)
        json.endObject()
        return json.bytes
    }

    /// Returns a writer that has written a frame up to the sender's `id`, with room for `capacity` more bytes.
    @inline(__always)
    private static func beginning(
        _ kind: SignalKind,
        id: SignalID?,
        at position: LogPosition,
        from sender: EncodedSender,
        _ capacity: Int
    ) -> JSONWriter {
        // Most signals are candidates, whose frames begin with bytes that are made once for each log.
        let isCandidate = kind == .ice
        let names = (isCandidate ? 0 : position.log.members.count) + sender.membersBeforeID.count
        var json = JSONWriter(
            beginning: isCandidate ? position.log.candidate : Self.type,
            capacity: capacity + names + (id?.text.utf8.count ?? 0)
        )
        if !isCandidate {
            json.plainPart(kind.rawValue)
            json.part(Self.afterType)
            json.part(position.log.members)
        }
        json.write(numbersOf: position)
        if let id {
            json.part(sender.membersBeforeID)
            json.part(of: id)
        } else {
            json.raw(sender.members)
        }
        json.endString()
        return json
    }
}

extension RelayedSignal {
    // The constant parts of every frame: the bytes before the first value, and those between two values.
    private static let type = Frame(Array(#"{"type":""#.utf8)).bytes
    private static let afterType = Array(#"","#.utf8)
}

/// The members that name the sender of a relayed signal.
///
/// Their JSON is made once for each connection that sends signals, and copied into each frame.
public struct EncodedSender: Equatable, Sendable {
    /// ``members``, and then the JSON up to the first character of the signal's `id`.
    let membersBeforeID: [UInt8]
    private let memberCount: Int

    /// Creates the members for the signals of a user's device.
    public init(_ user: UserID, _ device: DeviceID) {
        var json = JSONWriter(beginning: Self.from, capacity: 32 + user.text.utf8.count + device.text.utf8.count)
        json.plainPart(user.text)
        json.part(Self.fromDevice)
        json.plainPart(device.text)
        memberCount = json.bytes.count
        json.part(Self.id)
        membersBeforeID = json.bytes
    }

    /// The JSON from the comma before `from` up to the last character of the value of `fromDevice`.
    var members: ArraySlice<UInt8> { membersBeforeID[..<memberCount] }

    private static let id = Array(#"","id":""#.utf8)
    private static let from = Array(#","from":""#.utf8)
    private static let fromDevice = Array(#"","fromDevice":""#.utf8)
}

/// The identity of a call's log: the callId, the room as the caller wrote it (which names the two users), and the
/// epoch.
public struct LogIdentity: Hashable, Sendable {
    /// The callId.
    public var callID: CallID
    /// The room of the call.
    public var room: String
    /// The call's epoch: the number, from 1, that tells apart the calls with the same callId and peer.
    public var epoch: UInt32

    /// Creates the identity of a call's log.
    public init(callID: CallID, room: String, epoch: UInt32) {
        self.callID = callID
        self.room = room
        self.epoch = epoch
    }
}

/// The members that identify a call's log, as they occur in every frame of the call.
///
/// Their JSON is made once for each log, and copied into each frame. It is a class because every frame of the call
/// hands it on.
public final class EncodedLogIdentity: Equatable, Sendable {
    /// The JSON from the member `callId` up to the colon after the name `seq`.
    let members: [UInt8]
    /// The beginning of a candidate's frame: the headroom, the type, and ``members``.
    let candidate: [UInt8]
    /// The part of an ack behind the signal's `id`, up to the colon after the name `seq`.
    let ack: [UInt8]

    /// Creates the members for the frames of a log.
    public init(_ name: LogIdentity) {
        let id = name.callID.text
        var json = JSONWriter(
            beginning: Self.candidateBeginning,
            capacity: 64 + id.utf8.count + name.room.utf8.count
        )
        json.part(Self.callID)
        json.plainPart(id)
        json.part(Self.room)
        json.plainPart(name.room)
        json.part(Self.epoch)
        json.digits(UInt64(name.epoch))
        json.part(Self.seq)
        candidate = json.bytes
        members = Array(candidate[Self.candidateBeginning.count...])
        var end = JSONWriter(beginning: Self.idEnd, capacity: 32 + id.utf8.count)
        end.plainPart(id)
        end.part(Self.epoch)
        end.digits(UInt64(name.epoch))
        end.part(Self.seq)
        ack = end.bytes
    }

    /// Returns whether both identify the same log.
    public static func == (a: EncodedLogIdentity, b: EncodedLogIdentity) -> Bool { a.members == b.members }

    // The constant parts: the bytes before the first value, and those between two values.
    private static let candidateBeginning = Frame(Array(#"{"type":"ice","#.utf8)).bytes
    private static let idEnd = Array(#"","callId":""#.utf8)
    private static let callID = Array(#""callId":""#.utf8)
    private static let room = Array(#"","room":""#.utf8)
    private static let epoch = Array(#"","epoch":"#.utf8)
    private static let seq = Array(#","seq":"#.utf8)
}

/// The position of an entry: its call's log, and its place in that log.
public struct LogPosition: Equatable, Sendable {
    /// The log of the call.
    public var log: EncodedLogIdentity
    /// The number of the entry.
    public var seq: UInt64
    /// The time at which the entry was appended.
    public var at: Moment

    /// Creates a position from all its parts.
    public init(in log: EncodedLogIdentity, seq: UInt64, at: Moment) {
        self.log = log
        self.seq = seq
        self.at = at
    }
}

extension JSONWriter {
    /// Writes the members from `callId` to `ts`, which every relayed object and every `call` event contains.
    mutating func write(_ position: LogPosition) {
        comma()
        part(position.log.members)
        write(numbersOf: position)
        endNumber()
    }

    /// Writes the inside of the string of a signal's id.
    @inline(__always)
    mutating func part(of id: SignalID) { if id.isPlain { plainPart(id.text) } else { escaped(id.text) } }

    /// Writes the value of `seq`, and the member `ts`, without a comma after it.
    mutating func write(numbersOf position: LogPosition) {
        digits(position.seq, Self.ts, count: 6, UInt64(max(0, position.at.milliseconds)))
    }

    /// The text `,"ts":`.
    private static var ts: UInt64 { 0x3A22_7374_222C }

    /// Writes the members behind another member.
    mutating func write(_ offer: RelayedSignal.OfferExtras) {
        part(offer.hasVideo ? Self.withVideo : Self.withoutVideo)
        if let displayName = offer.displayName {
            name("displayName")
            value(displayName)
        }
        part(Self.callUUID)
        plainPart(offer.callUUID)
        endString()
        name("ringUntil")
        value(offer.ringUntil.milliseconds)
        if offer.isWaiting {
            name("waiting")
            value(true)
        }
        if offer.isScheduled {
            name("media")
            plain("none")
            name("scheduled")
            value(true)
        }
    }

    private static let withVideo = Array(#","hasVideo":true"#.utf8)
    private static let withoutVideo = Array(#","hasVideo":false"#.utf8)
    private static let callUUID = Array(#","callUUID":""#.utf8)
}
