import CallCore
import CallPorts
import CallWire
import JSON

/// Conversion of a call to its stored record, and back.
extension Call {
    var record: CallRecord {
        let ending: CallSession.Ending? = if case .ended(let ending, _) = session.phase { ending } else { nil }
        return CallRecord(
            number: number,
            id: key.id,
            epoch: session.epoch,
            room: room,
            caller: session.caller,
            callee: session.callee,
            displayName: displayName,
            hasVideo: session.hasVideo,
            startedAt: session.startedAt,
            ringUntil: session.ringUntil,
            answeredAt: session.answeredAt,
            activeAt: session.activeAt,
            endedAt: ending?.at,
            reason: ending?.reason,
            replacedBy: ending?.replacedBy,
            hidden: hidden,
            legs: session.legs.map {
                LegRecord(phone: $0.phone, isCaller: $0.side == .caller, phase: $0.phase.rawValue)
            },
            state: KeptState(of: self, ending: ending).text
        )
    }

    /// Restores a stored call at `now`; `nil` when the record is inconsistent.
    ///
    /// The moments from which deadlines are computed are capped relative to `now`. Otherwise a call answered or ended
    /// in the future would never be released, and one that rings for a year would keep its two users busy for that
    /// long.
    convenience init?(
        _ stored: StoredCall,
        grace: Moment.Span,
        longestRing: Moment.Span,
        crashes: Int,
        at now: Moment
    ) {
        let record = stored.record
        guard let state = KeptState(record.state) else { return nil }
        var legs: [Leg] = []
        for leg in record.legs {
            guard let phase = Leg.Phase(rawValue: leg.phase) else { return nil }
            legs.append(Leg(phone: leg.phone, side: leg.isCaller ? .caller : .callee, phase: phase))
        }
        var entries: [(entry: LogEntry, byteCount: Int)] = []
        for entry in stored.entries {
            guard let kept = LogEntry(entry) else { return nil }
            entries.append((kept, entry.object.count))
        }
        let ending = record.endedAt.map {
            CallSession.Ending(
                reason: record.reason ?? .failed,
                at: min($0, now),
                replacedBy: record.replacedBy,
                declinedBy: state.decliner
            )
        }
        let kept = CallSession.Kept(
            number: record.number,
            key: CallKey(id: record.id, pair: Pair(record.caller, record.callee)),
            epoch: record.epoch,
            caller: record.caller,
            startedAt: record.startedAt,
            ringUntil: min(record.ringUntil, now + longestRing),
            answeredAt: record.answeredAt.map { min($0, now) },
            activeAt: record.activeAt,
            ending: ending,
            legs: legs,
            winner: state.winner,
            hasVideo: record.hasVideo,
            isHidden: record.hidden != nil,
            callerMedia: state.caller,
            calleeMedia: state.callee
        )
        guard
            let session = CallSession(restoring: kept, log: entries, grace: grace, crashes: crashes, at: now)
        else { return nil }
        self.init(
            session: session,
            room: record.room,
            displayName: record.displayName,
            hidden: record.hidden,
            isWaiting: state.isWaiting
        )
        isSilenced = state.isSilenced
        pushes = state.pushes
        taken = state.taken
        frames = stored.entries.map { Frame($0.object).bytes }
        countedEntries = frames.count
    }

    /// Returns the stored record of a log entry.
    func entryRecord(at index: Int) -> EntryRecord {
        let entry = session.log[index]
        let object = frames[index][Frame.headroom...]
        switch entry.content {
        case .signal(let kind, let side, let phone, let id, let digest):
            return EntryRecord(
                seq: entry.seq,
                at: entry.at,
                kind: kind.rawValue,
                sender: phone,
                audience: entry.audience.kept(from: side),
                signalID: id?.text,
                digest: digest,
                object: object
            )
        case .state(let change):
            return EntryRecord(
                seq: entry.seq,
                at: entry.at,
                kind: "call",
                sender: change.answeredBy,
                audience: "\(change.state.rawValue)/\(change.reason?.rawValue ?? "")>\(entry.audience.kept)",
                signalID: change.replacedBy?.text ?? change.offerID?.text,
                digest: 0,
                object: object
            )
        }
    }
}

extension LogEntry.Audience {
    /// The sender's side and the audience as stored text; the two most common values allocate nothing.
    fileprivate func kept(from side: Side) -> String {
        switch (side, self) {
        case (.caller, .callee): "caller>callee"
        case (.callee, .caller): "callee>caller"
        default: "\(side.rawValue)>\(kept)"
        }
    }

    /// The audience as stored text: one word, followed by the device if the audience names one.
    fileprivate var kept: String {
        switch self {
        case .caller: "caller"
        case .callee: "callee"
        case .both: "both"
        case .nobody: "nobody"
        case .callerAnd(let phone): "and \(phone.kept)"
        case .calleeBut(let phone): "but \(phone.kept)"
        }
    }

    fileprivate init?(kept text: Substring) {
        let words = text.split(separator: " ", maxSplits: 1)
        switch words.first {
        case "caller": self = .caller
        case "callee": self = .callee
        case "both": self = .both
        case "nobody": self = .nobody
        case "and":
            guard words.count == 2, let phone = Phone(kept: words[1]) else { return nil }
            self = .callerAnd(phone)
        case "but":
            guard words.count == 2, let phone = Phone(kept: words[1]) else { return nil }
            self = .calleeBut(phone)
        default: return nil
        }
    }
}

extension Phone {
    /// The device as stored text: its token mark in hex, a space, its id.
    fileprivate var kept: String { "\(String(mark.rawValue, radix: 16)) \(id.text)" }

    fileprivate init?(kept text: Substring) {
        let words = text.split(separator: " ")
        guard words.count == 2, let mark = UInt64(words[0], radix: 16), let id = DeviceID(String(words[1])) else {
            return nil
        }
        self.init(id: id, mark: TokenMark(rawValue: mark))
    }
}

extension TakenSignals.Signal {
    /// The signal as stored text of eight words; its `id` comes last, because it may contain any character.
    fileprivate var kept: String {
        let word =
            switch kind {
            case .end(let reason): reason?.rawValue ?? "-"
            case .description(let digest): String(digest, radix: 16)
            }
        return "\(epoch) \(seq) \(at.milliseconds) \(word) \(user.text) \(phone.kept) \(Self.kept(id))"
    }

    /// Parses a signal's stored text.
    ///
    /// `isEnd`: Whether the text is from the list of ends.
    fileprivate init?(kept text: Substring, isEnd: Bool) {
        let words = text.split(separator: " ", maxSplits: 7, omittingEmptySubsequences: false)
        guard words.count == 8, let epoch = UInt32(words[0]), let seq = UInt64(words[1]), let at = Int64(words[2]),
            let user = UserID(String(words[4])), let phone = Phone(kept: "\(words[5]) \(words[6])"),
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
            phone: phone,
            id: id,
            epoch: epoch,
            seq: seq,
            at: Moment(milliseconds: at)
        )
    }

    /// The prefix of an `id` that is stored in hexadecimal; no other stored `id` begins with it.
    private static let mark: Character = "\u{7F}"

    /// Returns an `id` as stored text: in hexadecimal unless it is plain ASCII.
    ///
    /// Other characters may be separators, or may combine with one.
    private static func kept(_ id: SignalID) -> String {
        guard !id.text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return id.text }
        let digits = id.text.utf8.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16) }
        return String(mark) + digits.joined()
    }

    private static func id(_ text: Substring) -> SignalID? {
        guard text.first == mark else { return SignalID(String(text)) }
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

extension LogEntry {
    /// Restores a stored entry; `nil` when the record is inconsistent.
    init?(_ record: EntryRecord) {
        let parts = record.audience.split(separator: ">", maxSplits: 1)
        guard parts.count == 2, let audience = Audience(kept: parts[1]) else { return nil }
        if let kind = SignalKind(rawValue: record.kind), let side = Side(rawValue: String(parts[0])),
            let phone = record.sender
        {
            self.init(
                seq: record.seq,
                at: record.at,
                content: .signal(
                    kind,
                    from: side,
                    phone: phone,
                    id: record.signalID.flatMap { SignalID($0) },
                    digest: record.digest
                ),
                audience: audience
            )
            return
        }
        let words = parts[0].split(separator: "/", omittingEmptySubsequences: false)
        guard record.kind == "call", words.count == 2, let state = CallState(rawValue: String(words[0])) else {
            return nil
        }
        self.init(
            seq: record.seq,
            at: record.at,
            content: .state(
                StateChange(
                    state,
                    reason: EndReason(rawValue: String(words[1])),
                    answeredBy: record.sender,
                    replacedBy: state == .ended ? record.signalID.flatMap { CallID($0) } : nil,
                    offerID: state == .ringing ? record.signalID.flatMap { SignalID($0) } : nil
                )
            ),
            audience: audience
        )
    }
}

/// The parts of a call that are stored in one column.
///
/// They are who answered, who declined, what each side holds and mutes, whether the call waits or is silenced, the
/// results of its pushes, and the signals that must be recognized when they come again.
private struct KeptState {
    var winner: Phone?
    var decliner: Phone?
    var caller = MediaUpdate()
    var callee = MediaUpdate()
    var isWaiting = false
    var isSilenced = false
    /// The signals taken under the call's callId.
    var taken = TakenSignals()
    /// The results of the pushes that were sent; a push under way has no result yet and is not stored.
    var pushes: [DeviceID: DevicePush] = [:]

    init(of call: Call, ending: CallSession.Ending?) {
        winner = call.session.winner
        decliner = ending?.declinedBy
        caller = call.session.callerMedia
        callee = call.session.calleeMedia
        isWaiting = call.isWaiting
        isSilenced = call.isSilenced
        pushes = call.pushes
        taken = call.taken
    }

    var text: String {
        var json = JSONWriter()
        json.beginObject()
        if let winner {
            json.name("winner")
            json.plain(winner.kept)
        }
        if let decliner {
            json.name("decliner")
            json.plain(decliner.kept)
        }
        for (name, media) in [("caller", caller), ("callee", callee)] where media != MediaUpdate() {
            json.name(name)
            json.plain(
                [media.hold, media.audioMuted, media.videoMuted].map { $0 == nil ? "-" : $0 == true ? "1" : "0" }
                    .joined()
            )
        }
        if isWaiting {
            json.name("waiting")
            json.value(true)
        }
        if isSilenced {
            json.name("silenced")
            json.value(true)
        }
        let settled = pushes.keys.sorted { $0.text < $1.text }.compactMap { id in
            switch pushes[id]?.phase {
            case .accepted: "\(id.text)=accepted"
            case .refused: "\(id.text)=refused"
            case .sent, .waiting, .cancelled, nil: nil
            }
        }
        if !settled.isEmpty {
            json.name("pushes")
            json.plain(settled.joined(separator: " "))
        }
        if !taken.ends.isEmpty {
            json.name("ends")
            json.value(taken.ends.map(\.kept).joined(separator: "\n"))
        }
        if !taken.descriptions.isEmpty {
            json.name("descriptions")
            json.value(taken.descriptions.map(\.kept).joined(separator: "\n"))
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    init?(_ text: String) {
        guard let object = try? JSONObject(Array(text.utf8)) else { return nil }  // the parser's error is of no use
        for member in object.members {
            let value = object.string(member)
            switch object.name(of: member) {
            case "winner": winner = value.flatMap { Phone(kept: $0[...]) }
            case "decliner": decliner = value.flatMap { Phone(kept: $0[...]) }
            case "caller": caller = Self.media(value)
            case "callee": callee = Self.media(value)
            case "waiting": isWaiting = true
            case "silenced": isSilenced = true
            case "ends": taken.restore(ends: TakenSignals.Signal.lines(value, areEnds: true))
            case "descriptions": taken.restore(descriptions: TakenSignals.Signal.lines(value, areEnds: false))
            case "pushes":
                for push in (value ?? "").split(separator: " ") {
                    let parts = push.split(separator: "=")
                    guard parts.count == 2, let id = DeviceID(String(parts[0])) else { continue }
                    pushes[id] = DevicePush(settled: parts[1] == "accepted" ? .accepted : .refused)
                }
            default: break
            }
        }
    }

    private static func media(_ text: String?) -> MediaUpdate {
        let flags = (text ?? "---").map { $0 == "-" ? nil : $0 == "1" }
        guard flags.count == 3 else { return MediaUpdate() }
        return MediaUpdate(hold: flags[0], audioMuted: flags[1], videoMuted: flags[2])
    }
}
