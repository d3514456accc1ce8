package import CallCore

/// The ladder of a call: who told whom what, and when.
///
/// Everything that a reader sees is decided here: the lanes, the rows, their words and their times. `ringline explain`
/// prints a ladder as text (``text``); a page gets it as JSON (``Explanation/body``) and only draws it.
package struct Ladder: Equatable, Sendable {
    /// A vertical line: a device of the caller, the server, the push services, or a device of the callee.
    package struct Lane: Equatable, Sendable {
        /// What the line stands for.
        package enum Kind: String, Sendable {
            /// A device of the caller.
            case caller
            /// The server.
            case server
            /// The push services.
            case push
            /// A device of the callee, or the callee, of whom no device is known.
            case callee
        }

        /// What the line stands for.
        package let kind: Kind
        /// The text above the line.
        package let name: String
        /// The user of the device.
        package let user: UserID?
    }

    /// A row: an arrow, a note at one lane, or a gap.
    package struct Row: Equatable, Sendable {
        /// How long after the offer it happened.
        package let offset: Moment.Duration
        /// What the row shows.
        package let step: Step
        /// The words of the row.
        package var label: String
        /// How a page colours the row.
        package let look: Look

        /// The offset in words: `+3 ms`; empty for a gap.
        package var time: String { step == .gap ? "" : Ladder.time(offset) }
    }

    /// What a row shows.
    package enum Step: Equatable, Sendable {
        /// Bytes went from one lane to another.
        ///
        /// The arrow ends at the lane that got the bytes; `arrives` is `false` if nobody there has heard them.
        case arrow(from: Int, to: Int, arrives: Bool)
        /// Something happened at one lane.
        case note(at: Int)
        /// Time passed without a row.
        case gap
    }

    /// How a page colours a row.
    package enum Look: String, Sendable {
        /// As usual.
        case usual = ""
        /// Of little interest.
        case faint
        /// It helped the call.
        case good
        /// It hindered the call.
        case bad
        /// The call's end.
        case end
    }

    /// The vertical lines, from left to right.
    package let lanes: [Lane]
    /// The rows, oldest first, with gaps between them.
    package let rows: [Row]

    /// A ladder with these lanes and rows; where a second or more passes between two rows, it adds a gap.
    init(lanes: [Lane], rows: [Row]) {
        self.lanes = lanes
        var all: [Row] = []
        for row in rows {
            if let last = all.last {
                let pause = Moment.Duration.milliseconds(row.offset.milliseconds - last.offset.milliseconds)
                if pause >= Self.shortestGap {
                    let label = "\(Self.inWords(pause)) later"
                    all.append(Row(offset: last.offset, step: .gap, label: label, look: .faint))
                }
            }
            all.append(row)
        }
        self.rows = all
    }

    private static let shortestGap = Moment.Duration.seconds(1)

    /// Returns an offset in milliseconds or, if it is long, in seconds.
    static func time(_ offset: Moment.Duration) -> String {
        let milliseconds = offset.milliseconds
        return milliseconds < 100_000 ? "+\(milliseconds) ms" : "+\(milliseconds / 1_000) s"
    }

    /// Returns a duration as people say it: `2.4 s`, `45 s`, `3 min 5 s`, `2 h 5 min`.
    static func inWords(_ duration: Moment.Duration) -> String {
        let tenths = (duration.milliseconds + 50) / 100
        if tenths < 100 { return "\(tenths / 10).\(tenths % 10) s" }
        let seconds = (duration.milliseconds + 500) / 1_000
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3_600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3_600) h \(seconds % 3_600 / 60) min"
    }
}
