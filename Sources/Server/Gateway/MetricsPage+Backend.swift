import CallPorts
import Switchboard

/// The metrics of the app's backend.
extension MetricsPage {
    /// Adds the events for the app's backend, if there are any.
    mutating func addEvents(_ metrics: Metrics) {
        guard metrics.keepsEvents else { return }
        // Those that are zero, too: a rate needs a value from before the first event.
        let counts = AppEventType.allCases.map { ($0.rawValue, metrics.appEvents[$0]) }
        counters("ringline_events_total", "Events for the app's backend.", "type", counts)
        let lost = "Events deleted before the app's backend had them."
        counter("ringline_events_lost_total", lost, metrics.eventsLost)
        let endpoints = metrics.endpoints
        // The endpoints have numbers: an address may contain a secret.
        func gauges(_ name: String, _ help: String, _ value: (EndpointFigures) -> Int) {
            beginFamily(name, "gauge", help)
            for (place, endpoint) in endpoints.enumerated() {
                line(name, "{endpoint=\"\(place + 1)\"}", "\(value(endpoint))")
            }
        }
        beginFamily("ringline_event_deliveries_total", "counter", "Deliveries of events, by result.")
        for (place, endpoint) in endpoints.enumerated() {
            let label = "endpoint=\"\(place + 1)\",result="
            line("ringline_event_deliveries_total", "{\(label)\"accepted\"}", "\(endpoint.delivered)")
            for kind in EndpointFigures.Failure.allCases {
                let count = endpoint.failed[kind] ?? 0
                line("ringline_event_deliveries_total", "{\(label)\"\(kind.rawValue)\"}", "\(count)")
            }
        }
        gauges("ringline_events_waiting", "Events that an endpoint has not had.") { Int(clamping: $0.waiting) }
        gauges("ringline_events_parked", "Events that wait for an operator's resend.") { $0.parked }
        gauges("ringline_events_oldest_seconds", "Age of the oldest event that an endpoint has not had.") {
            $0.oldestSeconds
        }
        gauges("ringline_events_endpoint_down", "1 while an endpoint accepts nothing.") {
            $0.isDown || $0.isStopped ? 1 : 0
        }
    }

    /// Adds the decisions of the app's backend about calls.
    mutating func addDecisions(_ decisions: Metrics.Decisions) {
        counters(
            "ringline_decisions_total",
            "Offers that the app's backend was to decide about, by outcome.",
            "outcome",
            DecisionOutcome.allCases.map { ($0.rawValue, decisions.outcomes[$0] ?? 0) }
        )
        histogram(
            "ringline_decision_seconds",
            "Time from a question to the app's backend to its decision.",
            decisions.milliseconds
        )
        counter(
            "ringline_decisions_ignored_total",
            "Results of questions that came late or twice, and changed nothing.",
            decisions.ignoredResults
        )
        gauge(
            "ringline_decisions_stopped",
            "1 while the app's backend is not asked, because it has failed too often.",
            decisions.isBreakerOpen ? 1 : 0
        )
    }
}
