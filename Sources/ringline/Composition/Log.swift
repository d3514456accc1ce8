import CallCore
import CallWire
import Glibc
import LibWebSockets
import Logging

/// Log lines on stderr: for people, or JSON for machines.
enum Log {
    static func make(level: String, asJSON: Bool) -> Logger {
        var logger = Logger(label: "ringline") { _ in LineHandler(asJSON: asJSON) }
        logger.logLevel = Logger.Level(rawValue: level) ?? .info
        return logger
    }
}

/// Writes one line a message, with control characters escaped: text from outside cannot forge a line.
private struct LineHandler: LogHandler {
    let asJSON: Bool
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    init(asJSON: Bool) { self.asJSON = asJSON }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        let now = Timestamp.text(Moment(milliseconds: Int64(Server.wallClockMilliseconds())))
        var line: [UInt8]
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.name("time")
            json.plain(now)
            json.name("level")
            json.plain(event.level.rawValue)
            json.name("message")
            json.value(event.message.description)
            for (key, value) in all {
                json.name(escaping: key)
                json.value(value.description)
            }
            json.endObject()
            line = json.bytes
        } else {
            var text = "\(now) \(event.level.rawValue) \(Self.escaped(event.message.description))"
            for (key, value) in all { text += " \(key)=\(Self.quoted(value.description))" }
            line = Array(text.utf8)
        }
        line.append(0x0A)
        // One write a line, so that lines of several threads do not mix.
        line.withUnsafeBytes { bytes in _ = write(2, bytes.baseAddress, bytes.count) }
    }

    private static func quoted(_ text: String) -> String {
        let needsQuotes =
            text.isEmpty || text.utf8.contains { $0 <= 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "=") }
        guard needsQuotes else { return escaped(text) }
        return "\"" + escaped(text).split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"")
            + "\""
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            if scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) || scalar.value == 0x2028 {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }
}
