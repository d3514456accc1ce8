import CallCore
package import CallPorts
import CallWire
import JSON

/// The parts of a call that are stored in one column, `state`.
///
/// These parts are: the devices that answered and declined; whether each side holds the call or mutes its media;
/// whether the call is waiting or silenced; the results of its pushes; the signals that must be recognized when they come
/// again; and which events for the app's backend it has.
extension CallRecord {
    /// The text of the column.
    package var stateText: String {
        var json = JSONWriter()
        json.beginObject()
        if let answeringDevice = session.answeringDevice {
            json.name("winner")
            json.plain(answeringDevice.storedText)
        }
        if let decliner = session.ending?.declinedBy {
            json.name("decliner")
            json.plain(decliner.storedText)
        }
        for (name, media) in [("caller", session.callerMedia), ("callee", session.calleeMedia)]
        where media != MediaUpdate() {
            json.name(name)
            json.plain(
                [media.hold, media.audioMuted, media.videoMuted].map { $0 == nil ? "-" : $0 == true ? "1" : "0" }
                    .joined()
            )
        }
        if let scheduled {
            json.name("ring")
            json.plain("\(scheduled.occurrence.milliseconds) \(scheduled.ring) \(session.scheduled.word)")
        }
        if isWaiting {
            json.name("waiting")
            json.value(true)
        }
        if wasSilencedByDoNotDisturb {
            json.name("silenced")
            json.value(true)
        }
        if !pushes.isEmpty {
            json.name("pushes")
            json.plain(
                pushes.sorted { $0.key.text < $1.key.text }.map { "\($0.key.text)=\($0.value.rawValue)" }
                    .joined(separator: " ")
            )
        }
        if !ends.isEmpty {
            json.name("ends")
            json.value(ends.map(\.storedText).joined(separator: "\n"))
        }
        if !descriptions.isEmpty {
            json.name("descriptions")
            json.value(descriptions.map(\.storedText).joined(separator: "\n"))
        }
        if let events {
            json.name("events")
            json.value(events.stored)
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Returns the call with the parts that the column's text contains; `nil` when the text is not a JSON object.
    package func with(stateText text: String) -> CallRecord? {
        guard let object = try? JSONObject(Array(text.utf8)) else { return nil }  // the parser's error is of no use
        var record = self
        for member in object.members {
            let value = object.string(member)
            switch object.name(of: member) {
            case "winner": record.session.answeringDevice = value.flatMap { DeviceIdentity(kept: $0[...]) }
            case "decliner": record.session.ending?.declinedBy = value.flatMap { DeviceIdentity(kept: $0[...]) }
            case "caller": record.session.callerMedia = Self.media(value)
            case "callee": record.session.calleeMedia = Self.media(value)
            case "ring": record.readRing(value)
            case "waiting": record.isWaiting = true
            case "events": record.events = object.integer(member).flatMap(CallEvents.init(stored:))
            case "silenced": record.wasSilencedByDoNotDisturb = true
            case "ends": record.ends = AcceptedSignal.lines(value, areEnds: true)
            case "descriptions": record.descriptions = AcceptedSignal.lines(value, areEnds: false)
            case "pushes":
                for push in (value ?? "").split(separator: " ") {
                    let parts = push.split(separator: "=")
                    guard parts.count == 2, let id = DeviceID(String(parts[0])) else { continue }
                    record.pushes[id] = PushOutcome(rawValue: String(parts[1])) ?? .refused
                }
            default: break
            }
        }
        return record
    }

    /// Reads which ring of its schedule the call is; a damaged text leaves what the row says.
    private mutating func readRing(_ text: String?) {
        let words = (text ?? "").split(separator: " ")
        guard words.count == 3, scheduled != nil, let occurrence = Int64(words[0]),
            StorableRange.moments.contains(occurrence), let ring = Int(words[1]),
            let kind = ScheduledCall(word: words[2])
        else { return }
        scheduled?.occurrence = Moment(milliseconds: occurrence)
        scheduled?.ring = ring
        session.scheduled = kind
    }

    private static func media(_ text: String?) -> MediaUpdate {
        let flags = (text ?? "---").map { $0 == "-" ? nil : $0 == "1" }
        guard flags.count == 3 else { return MediaUpdate() }
        return MediaUpdate(hold: flags[0], audioMuted: flags[1], videoMuted: flags[2])
    }
}

extension ScheduledCall? {
    /// The word for the ring in the column.
    fileprivate var word: String {
        switch self {
        case .once, nil: "once"
        case .confirmable(isLast: false): "again"
        case .confirmable(isLast: true): "last"
        }
    }
}

extension ScheduledCall {
    fileprivate init?(word: Substring) {
        switch word {
        case "once": self = .once
        case "again": self = .confirmable(isLast: false)
        case "last": self = .confirmable(isLast: true)
        default: return nil
        }
    }
}

extension AcceptedSignal {
    /// The signal as stored text of eight words; the `id` comes last, because an `id` may contain any character.
    fileprivate var storedText: String {
        let word =
            switch kind {
            case .end(let reason): reason?.rawValue ?? "-"
            case .description(let digest): String(digest, radix: 16)
            }
        return "\(epoch) \(seq) \(at.milliseconds) \(word) \(user.text) \(device.storedText) \(Self.storedText(id))"
    }

    /// Parses a signal's stored text.
    ///
    /// `isEnd`: Whether the text is from the list of ends.
    fileprivate init?(kept text: Substring, isEnd: Bool) {
        let words = text.split(separator: " ", maxSplits: 7, omittingEmptySubsequences: false)
        guard words.count == 8, let epoch = UInt32(words[0]), let seq = UInt64(words[1]), let at = Int64(words[2]),
            let user = UserID(String(words[4])), let device = DeviceIdentity(kept: "\(words[5]) \(words[6])"),
            let id = Self.id(words[7])
        else { return nil }
        let kind: Kind
        if isEnd {
            kind = .end(EndReason(rawValue: String(words[3])))
        } else {
            guard let digest = UInt64(words[3], radix: 16) else { return nil }
            kind = .description(digest: digest)
        }
        self.init(
            kind: kind,
            user: user,
            device: device,
            id: id,
            epoch: epoch,
            seq: seq,
            at: Moment(milliseconds: at)
        )
    }

    /// The prefix of an `id` that is stored in hexadecimal; no other stored `id` begins with it.
    private static let hexPrefix: Character = "\u{7F}"

    /// Returns an `id` as stored text: in hexadecimal unless it is plain ASCII.
    ///
    /// Other characters may be separators, such as line ends, or may combine with a separator to one character.
    private static func storedText(_ id: SignalID) -> String {
        guard !id.text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return id.text }
        let digits = id.text.utf8.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16) }
        return String(hexPrefix) + digits.joined()
    }

    private static func id(_ text: Substring) -> SignalID? {
        guard text.first == hexPrefix else { return SignalID(String(text)) }
        let digits = Array(text.dropFirst().utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        let bytes = stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0
        }
        return SignalID(String(decoding: bytes, as: UTF8.self))
    }

    /// Parses the stored signals, one a line.
    fileprivate static func lines(_ text: String?, areEnds: Bool) -> [Self] {
        // Splits bytes, not characters: an `id` that was stored unchanged may combine with the separator next to it.
        (text ?? "").utf8.split(separator: 0x0A).compactMap { Self(kept: Substring($0), isEnd: areEnds) }
    }
}
