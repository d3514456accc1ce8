import CallCore
import CallWire
import JSON
import Logging
import ServerLog
import Threads

/// The log on stderr: text lines for people, or JSON lines for machines.
enum Log {
    /// Returns a log that writes the messages at or above the current threshold.
    static func make(_ threshold: LogThreshold, asJSON: Bool, to writer: LogWriter) -> ServerLog {
        let format = LineFormat(asJSON: asJSON)
        return ServerLog(
            Logger(label: "ringline") { _ in LineHandler(threshold: threshold, format: format, writer) },
            threshold: threshold
        )
    }

    /// Prints a line about the start to stdout: as it is, or as a line of a log in JSON.
    static func announce(_ text: String, asJSON: Bool) {
        guard asJSON else { return print(text) }
        print(String(decoding: LineFormat(asJSON: true).line(.notice, text, [:]), as: UTF8.self), terminator: "")
    }

    /// Returns the line in JSON about the error that ends the process.
    static func fatalLine(_ text: String) -> [UInt8] { LineFormat(asJSON: true).line(.error, text, [:]) }

    /// Returns a writer to stderr that also logs how many lines it had to drop.
    static func writer(asJSON: Bool) -> LogWriter {
        LogWriter { dropped in
            LineFormat(asJSON: asJSON).line(
                .warning,
                "log lines were dropped: stderr could not be written",
                [LogKey.logDropped.rawValue: .stringConvertible(Int64(clamping: dropped))]
            )
        }
    }
}

/// Formats each message as one line and passes it to the writer.
private struct LineHandler: LogHandler {
    let threshold: LogThreshold
    let format: LineFormat
    let writer: LogWriter
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level {
        get { threshold.level.ofLibrary }
        set { threshold.level = LogLevel(name: newValue.rawValue) ?? threshold.level }
    }

    init(threshold: LogThreshold, format: LineFormat, _ writer: LogWriter) {
        self.threshold = threshold
        self.format = format
        self.writer = writer
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        writer.write(format.line(event.level, event.message.description, all))
    }
}

/// The format of a log line.
///
/// Control characters are escaped, so that text from outside cannot forge a line.
private struct LineFormat {
    let asJSON: Bool

    func line(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) -> [UInt8] {
        let all = metadata.sorted { $0.key < $1.key }
        let now = Timestamp.text(Moment(milliseconds: SystemClock.wall()))
        var line: [UInt8]
        if asJSON {
            var json = JSONWriter()
            json.beginObject()
            json.name("time")
            json.plain(now)
            json.name("level")
            json.plain(level.rawValue)
            json.name("message")
            json.value(message)
            for (key, value) in all {
                json.name(escaping: key)
                if case .stringConvertible(let number as Int64) = value {
                    json.value(number)
                } else {
                    json.value(value.description)
                }
            }
            json.endObject()
            line = json.bytes
        } else {
            var text = "\(now) \(level.rawValue) \(message.printable)"
            for (key, value) in all { text += " \(key)=\(Self.quoted(value.description))" }
            line = Array(text.utf8)
        }
        line.append(0x0A)
        return line
    }

    private static func quoted(_ text: String) -> String {
        let needsQuotes =
            text.isEmpty || text.utf8.contains { $0 <= 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "=") }
        guard needsQuotes else { return text.printable }
        return "\"" + text.printable.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\\"")
            + "\""
    }
}
