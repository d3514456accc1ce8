import CallCore
import CallPorts
import Switchboard

/// The counters in Prometheus' text format (version 0.0.4).
struct MetricsPage {
    private(set) var text = ""
    /// The families that are also written under an old name, under that name.
    private var formerText = ""
    /// The family that is being written, if it has an old name.
    private var former: (old: String, new: String)?

    /// The metrics that were renamed after 0.2, with their old names.
    ///
    /// For one release each is also written under its old name, so that dashboards and alerts go on. Label values have
    /// no such copy: a sum over a metric would count it twice.
    static let formerNames: [(old: String, new: String)] = [
        ("ringline_connections", "ringline_tcp_connections"),
        ("ringline_sessions", "ringline_device_connections"),
        ("ringline_sessions_backlogged", "ringline_device_connections_backlogged"),
        ("ringline_sessions_opened_total", "ringline_device_connections_opened_total"),
        ("ringline_session_closes_total", "ringline_device_connection_closes_total"),
        ("ringline_strangers_dropped_total", "ringline_unauthenticated_dropped_total"),
    ]

    init(_ metrics: Metrics, calls: [CallState: Int], _ surroundings: ServerFigures) {
        beginFamily("ringline_build_info", "gauge", "Always 1; the label is the version.")
        line("ringline_build_info", "{version=\"\(surroundings.version)\"}", "1")
        addConnections(metrics, surroundings)
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
        addEvents(metrics)
        if metrics.decisions.isAsked { addDecisions(metrics.decisions) }
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
            "Log lines only counted in a sum, because unauthenticated clients or accounts caused too many.",
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
            "Audit log lines only counted in a sum, because unauthenticated clients or accounts caused too many.",
            surroundings.auditLines.suppressed
        )
        counter("ringline_clock_leaps_total", "Leaps of the wall clock.", surroundings.clockLeaps)
        let help = "Lead of the wall clock over the server's own clock, in seconds."
        beginFamily("ringline_clock_offset_seconds", "gauge", help)
        line("ringline_clock_offset_seconds", "", Self.seconds(surroundings.clockDifference))
        if let node = surroundings.node { addNode(node) }
        addProcess(surroundings.process)
        text += formerText
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

    private mutating func addConnections(_ metrics: Metrics, _ surroundings: ServerFigures) {
        // The codes that an alert may query exist from the first scrape on. Otherwise an alert would miss the first
        // increment.
        var closes = metrics.closes
        for code in [1001, 4400, 4401, 4403, 4409, 4429] as [UInt16] { closes[code, default: 0] += 0 }
        closes[4408, default: 0] += surroundings.queueDrops
        gauge("ringline_tcp_connections", "Open sockets, HTTP and WebSocket together.", surroundings.connections)
        gauge("ringline_device_connections", "Open connections of devices.", metrics.connections)
        let backlogged = "Connections that read too slowly; their senders wait."
        gauge("ringline_device_connections_backlogged", backlogged, metrics.backlogged)
        gauge("ringline_watches", "Connections of services that watch calls.", metrics.timelineWatchers)
        counter("ringline_watch_events_total", "Timeline events sent to services that watch.", metrics.timelineFrames)
        let opened = metrics.connectionsOpened
        counter("ringline_device_connections_opened_total", "Connections of devices opened.", opened)
        counters(
            "ringline_device_connection_closes_total",
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
            "ringline_unauthenticated_dropped_total",
            "Unauthenticated connections and Socket.IO sessions closed to make room.",
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
        beginFamily("ringline_calls", "gauge", "Live calls.")
        for state in CallState.allCases where state != .ended {
            line("ringline_calls", "{state=\"\(state.rawValue)\"}", "\(calls[state] ?? 0)")
        }
        counter("ringline_calls_begun_total", "Calls begun.", metrics.callsBegun)
        beginFamily("ringline_calls_ended_total", "counter", "Calls ended, by end reason.")
        for reason in EndReason.allCases {
            line("ringline_calls_ended_total", "{reason=\"\(reason.rawValue)\"}", "\(metrics.callsEnded[reason] ?? 0)")
        }
        gauge("ringline_schedules", "Schedules of calls.", metrics.schedules)
        counter(
            "ringline_scheduled_rings_total",
            "Calls that the server itself began because a schedule was due.",
            metrics.scheduledRings
        )
        beginFamily("ringline_calls_hidden_total", "counter", "Calls not shown to their callee.")
        for reason in CallRecord.Hidden.allCases {
            let count = metrics.callsHidden[reason] ?? 0
            line("ringline_calls_hidden_total", "{reason=\"\(reason.rawValue)\"}", "\(count)")
        }
        beginFamily("ringline_silenced_total", "counter", "Devices whose system did not show a call.")
        for why in Silence.allCases {
            line("ringline_silenced_total", "{why=\"\(why.rawValue)\"}", "\(metrics.silenced[why] ?? 0)")
        }
        beginFamily("ringline_signals_total", "counter", "Signals accepted.")
        for kind in SignalKind.allCases {
            line("ringline_signals_total", "{kind=\"\(kind.rawValue)\"}", "\(metrics.signals[kind])")
        }
        counter("ringline_delivered_total", "Relayed frames handed to connections.", metrics.delivered)
        counter("ringline_revocations_total", "Revocations of a user's tokens.", metrics.revocations)
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
        counter(
            "ringline_push_tokens_moved_total",
            "Push tokens that moved from one device to another.",
            metrics.pushTokensMoved
        )
        counter("ringline_pushes_sent_total", "Pushes sent.", metrics.pushesSent)
        let common = ["accepted", "cancelled", "impossible", "not_sent", "only_logged", "unreachable"].map {
            ($0, UInt64(0))
        }
        let results = metrics.pushResults.merging(common) { counted, _ in counted }
        counters("ringline_push_results_total", "Results of pushes, by reason.", "reason", results.map { ($0, $1) })
    }

    private mutating func addOutbound(_ services: [OutboundFigures]) {
        beginFamily("ringline_outbound_requests", "gauge", "Requests to push services and for keys, by state.")
        for service in services {
            for (state, count) in service.requests {
                line("ringline_outbound_requests", "{service=\"\(service.service)\",state=\"\(state)\"}", "\(count)")
            }
        }
        beginFamily("ringline_outbound_hosts_resting", "gauge", "Hosts left alone because no connection could be made.")
        for service in services {
            line("ringline_outbound_hosts_resting", "{service=\"\(service.service)\"}", "\(service.restingHosts)")
        }
    }

    /// Adds the process metrics, under the names that Prometheus' own libraries use.
    private mutating func addProcess(_ process: ProcessFigures) {
        beginFamily("process_cpu_seconds_total", "counter", "CPU time, user and system, in seconds.")
        line("process_cpu_seconds_total", "", Self.seconds(process.cpuMilliseconds))
        gauge("process_resident_memory_bytes", "Resident memory, in bytes.", process.residentBytes)
        gauge("process_open_fds", "Open file descriptors.", process.openDescriptors)
        gauge("process_max_fds", "Maximum number of open file descriptors.", process.maximumDescriptors)
        beginFamily("process_start_time_seconds", "gauge", "Start time of the process, in seconds since 1970.")
        line("process_start_time_seconds", "", Self.seconds(process.startedAt))
    }

    mutating func beginFamily(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
        former = Self.formerNames.first { $0.new == name }
        guard let old = former?.old else { return }
        formerText += "# HELP \(old) Old name of \(name); goes in the next release.\n# TYPE \(old) \(type)\n"
    }

    mutating func line(_ name: String, _ labels: String, _ value: String) {
        text += "\(name)\(labels) \(value)\n"
        guard let former else { return }
        // A line of a histogram adds a suffix to the family's name.
        formerText += "\(former.old)\(name.dropFirst(former.new.count))\(labels) \(value)\n"
    }

    mutating func gauge(_ name: String, _ help: String, _ value: Int) {
        beginFamily(name, "gauge", help)
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
        beginFamily("ringline_store_queries_waiting", "gauge", "Queries without a result, by lane.")
        for (lane, count) in zip(QueryLane.allCases, metrics.queriesUnderWay) {
            line("ringline_store_queries_waiting", "{lane=\"\(lane.name)\"}", "\(count)")
        }
        gauge("ringline_store_stalled", "1 while the store cannot write.", metrics.isStalled ? 1 : 0)
        gauge("ringline_store_commits_waiting", "Commits that are not durable yet.", commitsUnderWay)
    }

    mutating func counter(_ name: String, _ help: String, _ value: UInt64) {
        beginFamily(name, "counter", help)
        line(name, "", "\(value)")
    }

    mutating func counters(_ name: String, _ help: String, _ label: String, _ values: [(String, UInt64)]) {
        beginFamily(name, "counter", help)
        for (key, value) in values.sorted(by: { $0.0 < $1.0 }) { line(name, "{\(label)=\"\(key)\"}", "\(value)") }
    }

    mutating func histogram(_ name: String, _ help: String, _ values: Metrics.Histogram) {
        beginFamily(name, "histogram", help)
        lines(name, values)
    }

    private mutating func histograms(
        _ name: String,
        _ help: String,
        _ label: String,
        _ values: some Sequence<(String, Metrics.Histogram)>
    ) {
        beginFamily(name, "histogram", help)
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
