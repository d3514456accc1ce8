import CallCore
package import CallPorts
import CallWire

/// The other calls under the callId of an explained call, listed because the reader may have meant one of them.
///
/// One callId may be in use with several users, and an app may use one callId for every call between two users.
package struct CallsUnderSameID: Sendable {
    /// The largest number of calls under one callId that are searched.
    package static let limit = 1_000
    /// The largest number of calls that are listed.
    private static let shown = 5

    private let record: CallRecord
    private let others: [CallRecord]

    /// The other calls among `calls`, which are newest first and may contain the call itself.
    package init(of record: CallRecord, among calls: [CallRecord]) {
        self.record = record
        others = calls.filter { $0.number != record.number }
    }

    /// A few lines that follow an explanation; empty where there is no other call under the callId.
    package var text: String {
        guard !others.isEmpty else { return "" }
        var lines = others.prefix(Self.shown).map(line)
        if others.count > Self.shown {
            lines.append("…\(others.count == Self.limit - 1 ? "" : " \(others.count - Self.shown) more")")
        }
        return "\nOther calls with the callId \(record.id.text):\n" + lines.map { "         \($0)\n" }.joined()
    }

    private func line(_ other: CallRecord) -> String {
        let outcome = other.reason?.rawValue ?? (other.answeredAt == nil ? "ringing" : "answered")
        return "\(Timestamp.text(other.startedAt)) \(other.caller.text) calls \(other.callee.text), \(outcome): "
            + "--user \(other.caller.text) --user \(other.callee.text) --epoch \(other.epoch)"
    }
}
