package import CallCore
import CallPorts

// The text of typed values in the database. The text must not change, because databases of older versions contain it.

/// The columns of a log entry that hold its content and its audience.
package struct EntryColumns: Equatable {
    /// The kind of the signal, such as `offer` or `ice`; `call` for a change of state.
    package var kind: String
    /// The device that sent the signal, or that answered the call; `nil` = the server itself.
    package var sender: DeviceIdentity?
    /// The sender's side, or for a change of state the state and its reason; after that, the audience.
    package var audience: String
    /// For a signal: the `id` that its sender gave it.
    ///
    /// For a change of state: the callId of the call that replaces this one, or the `id` of the offer.
    package var signalID: String?
    /// A digest that distinguishes descriptions; 0 where there is no description.
    package var digest: UInt64

    /// Creates columns from their values, such as those of a row.
    package init(kind: String, sender: DeviceIdentity?, audience: String, signalID: String?, digest: UInt64) {
        self.kind = kind
        self.sender = sender
        self.audience = audience
        self.signalID = signalID
        self.digest = digest
    }
}

extension EntryColumns {
    /// The columns of an entry.
    package init(_ entry: LogEntry) {
        switch entry.content {
        case .signal(let kind, let side, let device, let id, let digest):
            self.init(
                kind: kind.rawValue,
                sender: device,
                audience: entry.audience.storedText(from: side),
                signalID: id?.text,
                digest: digest
            )
        case .state(let change):
            self.init(
                kind: "call",
                sender: change.answeredBy,
                audience: "\(change.state.rawValue)/\(change.reason?.rawValue ?? "")>\(entry.audience.storedText)",
                signalID: change.replacedBy?.text ?? change.offerID?.text,
                digest: 0
            )
        }
    }

    /// Returns the entry with this `seq` and moment; `nil` when the columns are inconsistent.
    package func entry(seq: UInt64, at moment: Moment) -> LogEntry? {
        guard let (first, last) = self.audience[...].halves(at: ">"), let audience = LogEntry.Audience(kept: last)
        else { return nil }
        if let kind = SignalKind(rawValue: kind), let side = Side(rawValue: String(first)), let sender {
            let id = signalID.flatMap { SignalID($0) }
            return LogEntry(
                seq: seq,
                at: moment,
                content: .signal(kind, from: side, device: sender, id: id, digest: digest),
                audience: audience
            )
        }
        guard kind == "call", let (name, reason) = first.halves(at: "/"), let state = CallState(rawValue: String(name))
        else { return nil }
        let change = StateChange(
            state,
            reason: EndReason(rawValue: String(reason)),
            answeredBy: sender,
            replacedBy: state == .ended ? signalID.flatMap { CallID($0) } : nil,
            offerID: state == .ringing ? signalID.flatMap { SignalID($0) } : nil
        )
        return LogEntry(seq: seq, at: moment, content: .state(change), audience: audience)
    }
}

extension Substring {
    /// The text before and after the first occurrence of an ASCII character; `nil` if there is none.
    ///
    /// `split` takes four times as long, and a start reads every entry of the live calls.
    fileprivate func halves(at separator: Unicode.Scalar) -> (Substring, Substring)? {
        guard let index = utf8.firstIndex(of: UInt8(ascii: separator)) else { return nil }
        return (self[..<index], self[utf8.index(after: index)...])
    }
}

extension LogEntry.Audience {
    /// The sender's side and the audience as stored text; the two most common values allocate nothing.
    fileprivate func storedText(from side: Side) -> String {
        switch (side, self) {
        case (.caller, .callee): "caller>callee"
        case (.callee, .caller): "callee>caller"
        default: "\(side.rawValue)>\(storedText)"
        }
    }

    /// The audience as stored text: one word, followed by the device if the audience names one.
    fileprivate var storedText: String {
        switch self {
        case .caller: "caller"
        case .callee: "callee"
        case .both: "both"
        case .nobody: "nobody"
        case .callerAnd(let device): "and \(device.storedText)"
        case .calleeExcept(let device): "but \(device.storedText)"
        }
    }

    fileprivate init?(kept text: Substring) {
        let (word, rest) = text.halves(at: " ") ?? (text, "")
        switch String(word) {
        case "caller": self = .caller
        case "callee": self = .callee
        case "both": self = .both
        case "nobody": self = .nobody
        case "and":
            guard let device = DeviceIdentity(kept: rest) else { return nil }
            self = .callerAnd(device)
        case "but":
            guard let device = DeviceIdentity(kept: rest) else { return nil }
            self = .calleeExcept(device)
        default: return nil
        }
    }
}

extension DeviceIdentity {
    /// The device as stored text: its token fingerprint in hex, a space, its id.
    var storedText: String { "\(String(fingerprint.rawValue, radix: 16)) \(id.text)" }

    init?(kept text: Substring) {
        guard let (mark, name) = text.halves(at: " "), let fingerprint = UInt64(mark, radix: 16),
            let id = DeviceID(String(name))
        else { return nil }
        self.init(id: id, fingerprint: TokenFingerprint(rawValue: fingerprint))
    }
}
