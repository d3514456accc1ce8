import CallCore
import CallPorts
import Switchboard

/// The counters in Prometheus' text format (version 0.0.4).
struct MetricsPage {
    private(set) var text = ""

    /// The values that do not come from the switchboard.
    struct Surroundings {
        let version: String
        let connections: Int
        /// When the served certificate expires, in seconds since 1970; `nil` without TLS.
        let certificateExpiry: Int64?
        /// The number of sessions that were closed because they read too slowly.
        let queueDrops: UInt64
        /// The number of connects that were refused because their user connects too often.
        let connectsRefused: UInt64
        /// The number of Socket.IO sessions that were refused because their user had too many that had not joined.
        let unjoinedRefused: UInt64
        /// The number of unidentified connections and sessions that were closed, by reason.
        let strangersDropped: [(String, UInt64)]
        /// The number of packets that Socket.IO sessions refused themselves, by reason.
        let packetsRefused: [(String, UInt64)]
        let process: ProcessFigures
        /// The number of log lines that could not be written.
        let droppedLogLines: UInt64
        /// The state of the issuer's published keys; `nil` where none are fetched.
        let keySet: (ageSeconds: Int64, failures: UInt64, keys: Int)?
        /// The number of audit log lines that could not be written.
        let droppedAuditLines: UInt64
        /// The number of refused tokens, by cause.
        let refusedTokens: [(cause: String, count: UInt64)]
        /// The number of leaps of the wall clock.
        let clockLeaps: UInt64
        /// How far the wall clock is ahead of the server's, in milliseconds.
        let clockDifference: Int64
    }

    init(_ metrics: Metrics, calls: [CallState: Int], _ surroundings: Surroundings) {
        begin("ringline_build_info", "gauge", "1, labelled with the version that runs.")
        line("ringline_build_info", "{version=\"\(surroundings.version)\"}", "1")
        addSessions(metrics, surroundings)
        addCalls(metrics, calls)
        var limited = Metrics.Limited.Limit.allCases.map { ($0.rawValue, metrics.limited[$0]) }
        limited.append(("connects", surroundings.connectsRefused))
        limited.append(("unjoined", surroundings.unjoinedRefused))
        counters("ringline_limited_total", "Refused or left out because of a limit.", "limit", limited)
        histogram("ringline_ack_seconds", "From a signal to its acknowledgement.", metrics.ackMilliseconds)
        histogram("ringline_store_commit_seconds", "From a change to its being durable.", metrics.commitMilliseconds)
        gauge("ringline_store_stalled", "1 while the store cannot write.", metrics.isStalled ? 1 : 0)
        counters(
            "ringline_database_damages_total",
            "Values in the database that cannot be.",
            "remedy",
            [("left_out", metrics.damages[.leftOut] ?? 0), ("replaced", metrics.damages[.replaced] ?? 0)]
        )
        addPushes(metrics)
        if let expiry = surroundings.certificateExpiry {
            let help = "When the served TLS certificate expires, in seconds since 1970."
            gauge("ringline_certificate_expiry_timestamp_seconds", help, Int(expiry))
        }
        counter(
            "ringline_log_lines_dropped_total",
            "Log lines dropped because stderr took no more.",
            surroundings.droppedLogLines
        )
        if let keySet = surroundings.keySet {
            gauge("ringline_jwks_age_seconds", "Since the published key set last came.", Int(keySet.ageSeconds))
            counter("ringline_jwks_failures_total", "Fetches of it that brought none.", keySet.failures)
            gauge("ringline_jwks_keys", "Its keys that are in force; 0: it has not come yet.", keySet.keys)
        }
        let refused = surroundings.refusedTokens.map { ($0.cause, $0.count) }
        counters("ringline_tokens_refused_total", "Tokens refused, and the capabilities of pushes.", "cause", refused)
        counter(
            "ringline_audit_lines_dropped_total",
            "Lines of the audit log that could not be written.",
            surroundings.droppedAuditLines
        )
        counter("ringline_clock_leaps_total", "How often the wall clock has leapt.", surroundings.clockLeaps)
        let help = "How far the wall clock is ahead of the server's own, in seconds."
        begin("ringline_clock_offset_seconds", "gauge", help)
        line("ringline_clock_offset_seconds", "", Self.seconds(surroundings.clockDifference))
        addProcess(surroundings.process)
    }

    private mutating func addSessions(_ metrics: Metrics, _ surroundings: Surroundings) {
        // The codes that an alert may query exist from the first scrape on. Otherwise an alert would miss the first
        // increment.
        var closes = metrics.closes
        for code in [1001, 4400, 4401, 4403, 4409, 4429] as [UInt16] { closes[code, default: 0] += 0 }
        closes[4408, default: 0] += surroundings.queueDrops
        gauge("ringline_connections", "Sockets open, HTTP and WebSocket together.", surroundings.connections)
        gauge("ringline_sessions", "Sessions open.", metrics.sessions)
        let backlogged = "Sessions that do not keep up with what they are sent: their senders wait."
        gauge("ringline_sessions_backlogged", backlogged, metrics.backlogged)
        counter("ringline_sessions_opened_total", "Sessions ever opened.", metrics.sessionsOpened)
        counters(
            "ringline_session_closes_total",
            "Sessions closed by the server.",
            "code",
            closes.map { ("\($0)", $1) }
        )
        counter(
            "ringline_queue_drops_total",
            "Sessions closed with 4408: their queue passed its limit.",
            surroundings.queueDrops
        )
        counters(
            "ringline_strangers_dropped_total",
            "Connections and Socket.IO sessions ended to make room, before it was known whose they are.",
            "reason",
            surroundings.strangersDropped
        )
        counters(
            "ringline_socketio_packets_refused_total",
            "Socket.IO packets refused before anybody looked at what they ask for.",
            "reason",
            surroundings.packetsRefused
        )
    }

    private mutating func addCalls(_ metrics: Metrics, _ calls: [CallState: Int]) {
        begin("ringline_calls", "gauge", "Live calls.")
        for state in CallState.allCases where state != .ended {
            line("ringline_calls", "{state=\"\(state.rawValue)\"}", "\(calls[state] ?? 0)")
        }
        counter("ringline_calls_begun_total", "Calls ever begun.", metrics.callsBegun)
        begin("ringline_calls_ended_total", "counter", "Calls ended.")
        for reason in EndReason.allCases {
            line("ringline_calls_ended_total", "{reason=\"\(reason.rawValue)\"}", "\(metrics.callsEnded[reason] ?? 0)")
        }
        begin("ringline_calls_hidden_total", "counter", "Calls kept from their callee.")
        for reason in CallRecord.Hidden.allCases {
            let count = metrics.callsHidden[reason] ?? 0
            line("ringline_calls_hidden_total", "{reason=\"\(reason.rawValue)\"}", "\(count)")
        }
        begin("ringline_signals_total", "counter", "Signals taken.")
        for kind in SignalKind.allCases {
            line("ringline_signals_total", "{kind=\"\(kind.rawValue)\"}", "\(metrics.signals[kind])")
        }
        counter("ringline_delivered_total", "Relayed frames handed to sessions.", metrics.delivered)
        counter("ringline_revocations_total", "Log-outs everywhere.", metrics.revocations)
        counters("ringline_refusals_total", "Frames and requests refused.", "code", metrics.refusals.map { ($0, $1) })
        histogram(
            "ringline_ring_to_answer_seconds",
            "From the offer to the answer.",
            metrics.answerMilliseconds
        )
    }

    private mutating func addPushes(_ metrics: Metrics) {
        gauge(
            "ringline_push_deletions_stopped",
            "1 while tokens are not deleted because too many are refused.",
            metrics.isDeletionStopped ? 1 : 0
        )
        counter("ringline_pushes_sent_total", "Pushes sent.", metrics.pushesSent)
        let common = ["accepted", "cancelled", "only_logged", "unreachable"].map { ($0, UInt64(0)) }
        let results = metrics.pushResults.merging(common) { counted, _ in counted }
        counters("ringline_push_results_total", "Results of pushes.", "reason", results.map { ($0, $1) })
    }

    /// Adds the process metrics, under the names that Prometheus' own libraries use.
    private mutating func addProcess(_ process: ProcessFigures) {
        begin("process_cpu_seconds_total", "counter", "Processor time, user and kernel, in seconds.")
        line("process_cpu_seconds_total", "", Self.seconds(process.cpuMilliseconds))
        gauge("process_resident_memory_bytes", "Memory in RAM, in bytes.", process.residentBytes)
        gauge("process_open_fds", "Descriptors in use.", process.openDescriptors)
        gauge("process_max_fds", "Descriptors that there may be.", process.mostDescriptors)
        begin("process_start_time_seconds", "gauge", "When the process began, in seconds since 1970.")
        line("process_start_time_seconds", "", Self.seconds(process.startedAt))
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

    /// Returns milliseconds as a decimal number of seconds.
    private static func seconds(_ milliseconds: Int64) -> String {
        let rest = String(milliseconds.magnitude % 1_000)
        let sign = milliseconds < 0 ? "-" : ""
        let zeros = String(repeating: "0", count: 3 - rest.count)
        return "\(sign)\(milliseconds.magnitude / 1_000).\(zeros)\(rest)"
    }
}
