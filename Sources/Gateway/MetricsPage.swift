import CallCore
import Switchboard

/// The counters in Prometheus' text format (version 0.0.4).
struct MetricsPage {
    private(set) var text = ""

    init(_ metrics: Metrics, calls: [CallState: Int], connections: Int) {
        gauge("ringline_connections", "Sockets open, HTTP and WebSocket together.", connections)
        gauge("ringline_sessions", "Sessions open.", metrics.sessions)
        counter("ringline_sessions_opened_total", "Sessions ever opened.", metrics.sessionsOpened)
        counters(
            "ringline_session_closes_total",
            "Sessions closed by the server.",
            "code",
            metrics.closes.map { ("\($0)", $1) }
        )
        begin("ringline_calls", "gauge", "Live calls.")
        for state in CallState.allCases where state != .ended {
            line("ringline_calls", "{state=\"\(state.rawValue)\"}", "\(calls[state] ?? 0)")
        }
        counter("ringline_calls_begun_total", "Calls ever begun.", metrics.callsBegun)
        begin("ringline_calls_ended_total", "counter", "Calls ended.")
        for reason in EndReason.allCases {
            line("ringline_calls_ended_total", "{reason=\"\(reason.rawValue)\"}", "\(metrics.callsEnded[reason] ?? 0)")
        }
        begin("ringline_signals_total", "counter", "Signals taken.")
        for kind in SignalKind.allCases {
            line("ringline_signals_total", "{kind=\"\(kind.rawValue)\"}", "\(metrics.signals[kind])")
        }
        counter("ringline_delivered_total", "Relayed frames handed to sessions.", metrics.delivered)
        counters("ringline_refusals_total", "Frames and requests refused.", "code", metrics.refusals.map { ($0, $1) })
        histogram("ringline_ack_seconds", "From a signal to its acknowledgement.", metrics.ackMilliseconds)
        histogram("ringline_store_commit_seconds", "From a change to its being durable.", metrics.commitMilliseconds)
        histogram(
            "ringline_ring_to_answer_seconds",
            "From the offer to the answer, of ended calls.",
            metrics.answerMilliseconds
        )
        gauge(
            "ringline_push_deletions_stopped",
            "1 while tokens are not deleted because too many are refused.",
            metrics.isDeletionStopped ? 1 : 0
        )
        gauge("ringline_store_stalled", "1 while the store cannot write.", metrics.isStalled ? 1 : 0)
        counter("ringline_pushes_sent_total", "Pushes sent.", metrics.pushesSent)
        counters("ringline_push_results_total", "Results of pushes.", "reason", metrics.pushResults.map { ($0, $1) })
    }

    private mutating func begin(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    private mutating func line(_ name: String, _ labels: String, _ value: String) {
        text += "\(name)\(labels) \(value)\n"
    }

    private mutating func gauge(_ name: String, _ help: String, _ value: Int) {
        begin(name, "gauge", help)
        line(name, "", "\(value)")
    }

    private mutating func counter(_ name: String, _ help: String, _ value: UInt64) {
        begin(name, "counter", help)
        line(name, "", "\(value)")
    }

    private mutating func counters(_ name: String, _ help: String, _ label: String, _ values: [(String, UInt64)]) {
        begin(name, "counter", help)
        for (key, value) in values.sorted(by: { $0.0 < $1.0 }) { line(name, "{\(label)=\"\(key)\"}", "\(value)") }
    }

    private mutating func histogram(_ name: String, _ help: String, _ values: Metrics.Histogram) {
        begin(name, "histogram", help)
        var total: UInt64 = 0
        for (index, count) in values.counts.enumerated() {
            total += count
            let bound = index < values.bounds.count ? Self.seconds(values.bounds[index]) : "+Inf"
            line(name, "_bucket{le=\"\(bound)\"}", "\(total)")
        }
        line(name, "_sum", Self.seconds(values.sum))
        line(name, "_count", "\(total)")
    }

    /// Milliseconds as a decimal number of seconds.
    private static func seconds(_ milliseconds: Int64) -> String {
        let rest = String(milliseconds % 1_000)
        return "\(milliseconds / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }
}
