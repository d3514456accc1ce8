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
        let parts = self.audience.split(separator: ">", maxSplits: 1)
        guard parts.count == 2, let audience = LogEntry.Audience(kept: parts[1]) else { return nil }
        if let kind = SignalKind(rawValue: kind), let side = Side(rawValue: String(parts[0])), let sender {
            let id = signalID.flatMap { SignalID($0) }
            return LogEntry(
                seq: seq,
                at: moment,
                content: .signal(kind, from: side, device: sender, id: id, digest: digest),
                audience: audience
            )
        }
        let words = parts[0].split(separator: "/", omittingEmptySubsequences: false)
        guard kind == "call", words.count == 2, let state = CallState(rawValue: String(words[0])) else { return nil }
        let change = StateChange(
            state,
            reason: EndReason(rawValue: String(words[1])),
            answeredBy: sender,
            replacedBy: state == .ended ? signalID.flatMap { CallID($0) } : nil,
            offerID: state == .ringing ? signalID.flatMap { SignalID($0) } : nil
        )
        return LogEntry(seq: seq, at: moment, content: .state(change), audience: audience)
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
        let words = text.split(separator: " ", maxSplits: 1)
        switch words.first {
        case "caller": self = .caller
        case "callee": self = .callee
        case "both": self = .both
        case "nobody": self = .nobody
        case "and":
            guard words.count == 2, let device = DeviceIdentity(kept: words[1]) else { return nil }
            self = .callerAnd(device)
        case "but":
            guard words.count == 2, let device = DeviceIdentity(kept: words[1]) else { return nil }
            self = .calleeExcept(device)
        default: return nil
        }
    }
}

extension DeviceIdentity {
    /// The device as stored text: its token fingerprint in hex, a space, its id.
    var storedText: String { "\(String(fingerprint.rawValue, radix: 16)) \(id.text)" }

    init?(kept text: Substring) {
        let words = text.split(separator: " ")
        guard words.count == 2, let fingerprint = UInt64(words[0], radix: 16), let id = DeviceID(String(words[1]))
        else {
            return nil
        }
        self.init(id: id, fingerprint: TokenFingerprint(rawValue: fingerprint))
    }
}
