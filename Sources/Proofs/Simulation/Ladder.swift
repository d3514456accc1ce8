import CallWire

/// The short text of a message in the ladder, the printed list of a world's events: the type, the call and the numbers
/// of the message.
enum Ladder {
    private static let shown = [
        Key("type"), Key("action"), Key("callId"), Key("to"), Key("epoch"), Key("seq"), Key("from"), Key("fromDevice"),
        Key("id"), Key("state"), Key("reason"), Key("replacedBy"), Key("code"),
    ]

    /// Returns a line of the ladder: the time since the world's start, and what happened.
    static func line(_ text: String, at offset: Int64) -> String {
        let whole = String(offset / 1_000)
        let rest = String(offset % 1_000)
        return String(repeating: " ", count: max(0, 4 - whole.count)) + whole + "."
            + String(repeating: "0", count: 3 - rest.count) + rest + "  " + text
    }

    static func text(_ bytes: [UInt8], from start: Int) -> String {
        guard let object = MessageReader.object(bytes, from: start) else {
            return "\(max(0, bytes.count - start)) bytes"
        }
        var words: [String] = []
        for key in shown {
            guard let value = object.text(of: key) ?? object.number(of: key).map({ String($0) }) else { continue }
            words.append(words.isEmpty ? value : "\(key.name)=\(value)")
        }
        if let answeringDevice = object.inner(of: .answeredBy)?.text(of: .device) {
            words.append("answeredBy=\(answeringDevice)")
        }
        return words.joined(separator: " ")
    }
}
