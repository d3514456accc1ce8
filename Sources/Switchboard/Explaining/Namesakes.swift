import CallCore
import CallWire

/// Other calls of an explained call's name, so that whoever meant one of them finds it.
///
/// One callId may be in use with several people, and apps that have one for every call between two use it again and again.
public struct Namesakes: Sendable {
    /// How many calls of one name are looked at.
    public static let limit = 1_000
    /// How many are told of.
    private static let shown = 5

    private let record: CallRecord
    private let others: [CallRecord]

    /// The others among calls of one name, newest first, which may hold the call itself.
    public init(of record: CallRecord, among calls: [CallRecord]) {
        self.record = record
        others = calls.filter { $0.number != record.number }
    }

    /// A few lines behind an explanation; empty where there is no other call of the name.
    public var text: String {
        guard !others.isEmpty else { return "" }
        var lines = others.prefix(Self.shown).map(line)
        if others.count > Self.shown {
            lines.append("…\(others.count == Self.limit - 1 ? "" : " \(others.count - Self.shown) more")")
        }
        return "\nOther calls under the name \(record.id.text):\n" + lines.map { "         \($0)\n" }.joined()
    }

    private func line(_ other: CallRecord) -> String {
        let outcome = other.reason?.rawValue ?? (other.answeredAt == nil ? "ringing" : "answered")
        return "\(Timestamp.text(other.startedAt)) \(other.caller.text) calls \(other.callee.text), \(outcome): "
            + "--user \(other.caller.text) --user \(other.callee.text) --epoch \(other.epoch)"
    }
}
