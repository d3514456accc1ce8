import CallCore
import CallPorts
import Switchboard

/// The counters in Prometheus' text format (version 0.0.4).
struct MetricsPage {
    private(set) var text = ""

    /// The values that do not come from the switchboard.
    struct ServerFigures {
        let version: String
        let connections: Int
        /// The number of commits that are not durable yet.
        let commitsUnderWay: Int
        /// When the served certificate expires, in seconds since 1970; `nil` without TLS.
        let certificateExpiry: Int64?
        /// The number of connections that were closed because they read too slowly.
        let queueDrops: UInt64
        /// The number of connects that were refused because their user connected too often.
        let connectsRefused: UInt64
        /// The number of Socket.IO sessions that were refused because their user had too many other sessions that had
        /// not joined.
        let unjoinedRefused: UInt64
        /// The number of unauthenticated connections and sessions that were closed, by reason.
        let unauthenticatedDropped: [(String, UInt64)]
        /// The number of requests and upgrades that were refused before their path was looked at, by code.
        let requestsRefused: [(String, UInt64)]
        /// The number of requests and upgrades that were refused because of their `Origin`.
        let originsRefused: UInt64
        /// The number of packets that Socket.IO sessions refused themselves, by reason.
        let packetsRefused: [(String, UInt64)]
        let process: ProcessFigures
        let logLines: LineFigures
        /// The state of the issuer's published keys; `nil` where none are fetched.
        let keySet: (ageSeconds: Int64, failures: UInt64, keys: Int)?
        /// The figures of each service to which the server sends requests.
        let outbound: [OutboundFigures]
        let auditLines: LineFigures
        /// The number of refused tokens, by cause.
        let refusedTokens: [(cause: String, count: UInt64)]
        /// The number of leaps of the wall clock.
        let clockLeaps: UInt64
        /// How far the wall clock is ahead of the server's clock, in milliseconds.
        let clockDifference: Int64
        /// The figures of one node of several; `nil` if the server owns its store alone.
        var node: NodeFigures?
    }

    /// The figures of a server that is one node of several.
    struct NodeFigures {
        /// Whether this node owns the calls.
        let isOwner: Bool
        /// Whether this node serves clients, as `/readyz` says.
        let isReady: Bool
        /// The number of the newest ownership that this node knows of; 0 = it knows of none yet.
        let epoch: UInt64
        /// How often this node has claimed the calls since its start.
        let takeovers: UInt64
        /// The established links: on the owner one for each other node, on any other node one to the owner.
        let links: Int
        /// The events that this node has sent to the owner and that the owner has not confirmed.
        let unconfirmedEvents: Int
        /// How many connections this node has closed, and how many requests it has refused, because too much waited for
        /// an owner.
        let waitingRefused: UInt64
        /// The bytes of events that wait at this node for an owner.
        let waitingBytes: Int
    }

    init(_ metrics: Metrics, calls: [CallState: Int], _ surroundings: ServerFigures) {
        begin("ringline_build_info", "gauge", "Always 1; the label is the version.")
        line("ringline_build_info", "{version=\"\(surroundings.version)\"}", "1")
        addSessions(metrics, surroundings)
        addCalls(metrics, calls)
        addLimits(metrics, surroundings)
        histogram("ringline_ack_seconds", "Time from a signal to its ack.", metrics.ackMilliseconds)
        addStore(metrics, commitsUnderWay: surroundings.commitsUnderWay)
        counters(
            "ringline_database_damages_total",
            "Invalid values in the database that were replaced or left out.",
            "remedy",
            [("left_out", metrics.damages[.leftOut] ?? 0), ("replaced", metrics.damages[.replaced] ?? 0)]
        )
        addDirectory(metrics)
        addPushes(metrics)
        addOutbound(surroundings.outbound)
        if let expiry = surroundings.certificateExpiry {
            let help = "Expiry of the served TLS certificate, in seconds since 1970."
            gauge("ringline_certificate_expiry_timestamp_seconds", help, Int(expiry))
        }
        counter(
            "ringline_log_lines_dropped_total",
            "Log lines dropped because stderr could not be written.",
            surroundings.logLines.dropped
        )
        counter(
            "ringline_log_lines_suppressed_total",
            "Log lines only counted in a sum, because strangers or accounts caused too many.",
            surroundings.logLines.suppressed
        )
        addTokens(surroundings)
        counter(
            "ringline_audit_lines_dropped_total",
            "Audit log lines that could not be written.",
            surroundings.auditLines.dropped
        )
        counter(
            "ringline_audit_lines_suppressed_total",
            "Audit log lines only counted in a sum, because strangers or accounts caused too many.",
            surroundings.auditLines.suppressed
        )
        counter("ringline_clock_leaps_total", "Leaps of the wall clock.", surroundings.clockLeaps)
        let help = "Lead of the wall clock over the server's own clock, in seconds."
        begin("ringline_clock_offset_seconds", "gauge", help)
        line("ringline_clock_offset_seconds", "", Self.seconds(surroundings.clockDifference))
        if let node = surroundings.node { addNode(node) }
        addProcess(surroundings.process)
    }

    private mutating func addNode(_ node: NodeFigures) {
        gauge("ringline_node_owner", "1 on the node that owns the calls.", node.isOwner ? 1 : 0)
        gauge("ringline_node_ready", "1 while the node serves clients.", node.isReady ? 1 : 0)
        gauge(
            "ringline_node_epoch",
            "Number of the newest ownership that the node knows of.",
            Int(clamping: node.epoch)
        )
        counter("ringline_node_takeovers_total", "Claims of the calls by this node.", node.takeovers)
        gauge("ringline_node_links", "Established links with other nodes.", node.links)
        gauge(
            "ringline_node_unconfirmed_events",
            "Events sent to the owner and not confirmed by it.",
            node.unconfirmedEvents
        )
        counter(
            "ringline_node_waiting_refused_total",
            "Connections closed and requests refused because too much waited for an owner.",
            node.waitingRefused
        )
        gauge("ringline_node_waiting_bytes", "Bytes of events that wait for an owner.", node.waitingBytes)
    }

    private mutating func addSessions(_ metrics: Metrics, _ surroundings: ServerFigures) {
        // The codes that an alert may query exist from the first scrape on. Otherwise an alert would miss the first
        // increment.
        var closes = metrics.closes
        for code in [1001, 4400, 4401, 4403, 4409, 4429] as [UInt16] { closes[code, default: 0] += 0 }
        closes[4408, default: 0] += surroundings.queueDrops
        gauge("ringline_connections", "Open sockets, HTTP and WebSocket together.", surroundings.connections)
        gauge("ringline_sessions", "Open connections of devices.", metrics.connections)
        let backlogged = "Connections that read too slowly; their senders wait."
        gauge("ringline_sessions_backlogged", backlogged, metrics.backlogged)
        gauge("ringline_watches", "Connections of services that watch calls.", metrics.timelineWatchers)
        counter("ringline_watch_events_total", "Timeline events sent to services that watch.", metrics.timelineFrames)
        counter("ringline_sessions_opened_total", "Connections of devices opened.", metrics.connectionsOpened)
        counters(
            "ringline_session_closes_total",
            "Connections closed by the server, by close code.",
            "code",
            closes.map { ("\($0)", $1) }
        )
        counter(
            "ringline_queue_drops_total",
            "Connections closed with 4408 because their queue exceeded its limit.",
            surroundings.queueDrops
        )
        counters(
            "ringline_strangers_dropped_total",
            "Unauthenticated connections and Socket.IO sessions (strangers) closed to make room.",
            "reason",
            surroundings.unauthenticatedDropped
        )
        counters(
            "ringline_http_refused_total",
            "Requests and upgrades refused before their path was looked at, by error code.",
            "code",
            surroundings.requestsRefused
        )
        counter(
            "ringline_origins_refused_total",
            "Requests and upgrades refused because of their Origin.",
            surroundings.originsRefused
        )
        counters(
            "ringline_socketio_packets_refused_total",
            "Socket.IO packets refused before their content was read.",
            "reason",
            surroundings.packetsRefused
        )
    }

    private mutating func addCalls(_ metrics: Metrics, _ calls: [CallState: Int]) {
        begin("ringline_calls", "gauge", "Live calls.")
        for state in CallState.allCases where state != .ended {
            line("ringline_calls", "{state=\"\(state.rawValue)\"}", "\(calls[state] ?? 0)")
        }
        counter("ringline_calls_begun_total", "Calls begun.", metrics.callsBegun)
        begin("ringline_calls_ended_total", "counter", "Calls ended, by end reason.")
        for reason in EndReason.allCases {
            line("ringline_calls_ended_total", "{reason=\"\(reason.rawValue)\"}", "\(metrics.callsEnded[reason] ?? 0)")
        }
        gauge("ringline_schedules", "Schedules of calls.", metrics.schedules)
        counter(
            "ringline_scheduled_rings_total",
            "Calls that the server itself began because a schedule was due.",
            metrics.scheduledRings
        )
        begin("ringline_calls_hidden_total", "counter", "Calls not shown to their callee.")
        for reason in CallRecord.Hidden.allCases {
            let count = metrics.callsHidden[reason] ?? 0
            line("ringline_calls_hidden_total", "{reason=\"\(reason.rawValue)\"}", "\(count)")
        }
        begin("ringline_silenced_total", "counter", "Devices whose system did not show a call.")
        for why in Silence.allCases {
            line("ringline_silenced_total", "{why=\"\(why.rawValue)\"}", "\(metrics.silenced[why] ?? 0)")
        }
        begin("ringline_signals_total", "counter", "Signals accepted.")
        for kind in SignalKind.allCases {
            line("ringline_signals_total", "{kind=\"\(kind.rawValue)\"}", "\(metrics.signals[kind])")
        }
        counter("ringline_delivered_total", "Relayed frames handed to connections.", metrics.delivered)
        counter("ringline_revocations_total", "Revocations: users logged out everywhere.", metrics.revocations)
        counters(
            "ringline_refusals_total",
            "Frames and requests refused, by error code.",
            "code",
            metrics.refusals.map { ($0, $1) }
        )
        histogram(
            "ringline_ring_to_answer_seconds",
            "Time from the offer to the answer.",
            metrics.answerMilliseconds
        )
    }

    private mutating func addLimits(_ metrics: Metrics, _ surroundings: ServerFigures) {
        var limited = Metrics.Limited.Limit.allCases.map { ($0.rawValue, metrics.limited[$0]) }
        limited.append(("connects", surroundings.connectsRefused))
        limited.append(("unjoined", surroundings.unjoinedRefused))
        counters("ringline_limited_total", "Refusals and omissions because of a limit.", "limit", limited)
        counters(
            "ringline_unknown_members_total",
            "Members of frames and bodies with names that the server does not know.",
            "place",
            UnknownNames.Place.allCases.map { ($0.rawValue, metrics.unknownNames[$0]) }
        )
    }

    private mutating func addDirectory(_ metrics: Metrics) {
        gauge("ringline_directory_numbers", "Names for all users in the call directory.", metrics.numbers)
        counter("ringline_directory_changes_total", "Changed lines of the call directory.", metrics.numbersChanged)
        counters(
            "ringline_directory_pages_total",
            "Pages of the call directory that were read.",
            "kind",
            [
                ("changes", metrics.numberPages.changes), ("complete", metrics.numberPages.complete),
                ("unchanged", metrics.numberPages.unchanged),
            ]
        )
    }

    /// Adds the refused tokens, and the published keys that check tokens.
    private mutating func addTokens(_ surroundings: ServerFigures) {
        if let keySet = surroundings.keySet {
            gauge("ringline_jwks_age_seconds", "Age of the published key set.", Int(keySet.ageSeconds))
            counter("ringline_jwks_failures_total", "Failed fetches of the published key set.", keySet.failures)
            gauge(
                "ringline_jwks_keys",
                "Keys of the published key set in use; 0 until it is first fetched.",
                keySet.keys
            )
        }
        let refused = surroundings.refusedTokens.map { ($0.cause, $0.count) }
        counters("ringline_tokens_refused_total", "Refused tokens and push capabilities.", "cause", refused)
    }

    private mutating func addPushes(_ metrics: Metrics) {
        gauge(
            "ringline_push_deletions_stopped",
            "1 while push tokens are not deleted because the push services refuse too many.",
            metrics.isDeletionStopped ? 1 : 0
        )
        counter("ringline_pushes_sent_total", "Pushes sent.", metrics.pushesSent)
        let common = ["accepted", "cancelled", "impossible", "not_sent", "only_logged", "unreachable"].map {
            ($0, UInt64(0))
        }
        let results = metrics.pushResults.merging(common) { counted, _ in counted }
        counters("ringline_push_results_total", "Results of pushes, by reason.", "reason", results.map { ($0, $1) })
    }

    private mutating func addOutbound(_ services: [OutboundFigures]) {
        begin("ringline_outbound_requests", "gauge", "Requests to push services and for keys, by state.")
        for service in services {
            for (state, count) in service.requests {
                line("ringline_outbound_requests", "{service=\"\(service.service)\",state=\"\(state)\"}", "\(count)")
            }
        }
        begin("ringline_outbound_hosts_resting", "gauge", "Hosts left alone because no connection could be made.")
        for service in services {
            line("ringline_outbound_hosts_resting", "{service=\"\(service.service)\"}", "\(service.restingHosts)")
        }
    }

    /// Adds the process metrics, under the names that Prometheus' own libraries use.
    private mutating func addProcess(_ process: ProcessFigures) {
        begin("process_cpu_seconds_total", "counter", "CPU time, user and system, in seconds.")
        line("process_cpu_seconds_total", "", Self.seconds(process.cpuMilliseconds))
        gauge("process_resident_memory_bytes", "Resident memory, in bytes.", process.residentBytes)
        gauge("process_open_fds", "Open file descriptors.", process.openDescriptors)
        gauge("process_max_fds", "Maximum number of open file descriptors.", process.maximumDescriptors)
        begin("process_start_time_seconds", "gauge", "Start time of the process, in seconds since 1970.")
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

    private mutating func addStore(_ metrics: Metrics, commitsUnderWay: Int) {
        histogram(
            "ringline_store_commit_seconds",
            "Time from a change until it is durable.",
            metrics.commitMilliseconds
        )
        histograms(
            "ringline_store_query_seconds",
            "Time from a query to its result, by lane.",
            "lane",
            zip(QueryLane.allCases.map(\.name), metrics.queryMilliseconds)
        )
        begin("ringline_store_queries_waiting", "gauge", "Queries without a result, by lane.")
        for (lane, count) in zip(QueryLane.allCases, metrics.queriesUnderWay) {
            line("ringline_store_queries_waiting", "{lane=\"\(lane.name)\"}", "\(count)")
        }
        gauge("ringline_store_stalled", "1 while the store cannot write.", metrics.isStalled ? 1 : 0)
        gauge("ringline_store_commits_waiting", "Commits that are not durable yet.", commitsUnderWay)
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
        lines(name, values)
    }

    private mutating func histograms(
        _ name: String,
        _ help: String,
        _ label: String,
        _ values: some Sequence<(String, Metrics.Histogram)>
    ) {
        begin(name, "histogram", help)
        for (key, histogram) in values { lines(name, histogram, label: "\(label)=\"\(key)\"") }
    }

    private mutating func lines(_ name: String, _ values: Metrics.Histogram, label: String = "") {
        var total: UInt64 = 0
        for (index, count) in values.counts.enumerated() {
            total += count
            let bound = index < values.bounds.count ? Self.seconds(values.bounds[index]) : "+Inf"
            line(name, "_bucket{\(label.isEmpty ? "" : "\(label),")le=\"\(bound)\"}", "\(total)")
        }
        line(name, "_sum\(label.isEmpty ? "" : "{\(label)}")", Self.seconds(values.sum))
        line(name, "_count\(label.isEmpty ? "" : "{\(label)}")", "\(total)")
    }

    /// Returns milliseconds as a decimal number of seconds.
    private static func seconds(_ milliseconds: Int64) -> String {
        let rest = String(milliseconds.magnitude % 1_000)
        let sign = milliseconds < 0 ? "-" : ""
        let zeros = String(repeating: "0", count: 3 - rest.count)
        return "\(sign)\(milliseconds.magnitude / 1_000).\(zeros)\(rest)"
    }
}
