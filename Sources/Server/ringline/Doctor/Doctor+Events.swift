import CallPorts
import Diagnostics
import Switchboard

extension Doctor {
    /// Returns a finding for each address of the app's backend to which events or questions go in clear.
    ///
    /// If events do so to none, returns one finding for all their endpoints; without endpoints, returns none.
    func backendAddresses() -> [Finding] {
        eventFindings() + decisionFindings()
    }

    private func decisionFindings() -> [Finding] {
        guard let url = settings.backend?.decideURL else { return [] }
        let subject = "decisions"
        guard url.hasPrefix("http://") else { return [.ok(subject, "your backend is asked about each new call")] }
        return [
            .warning(
                subject,
                "questions about calls go in clear to \(EventEndpoint.shown(url)): whoever can read that network learns "
                    + "who calls whom, and can change the answers",
                fix: "use https in --decide-url, unless the backend is on this machine"
            )
        ]
    }

    private func eventFindings() -> [Finding] {
        guard let endpoints = settings.policy.events?.endpoints, !endpoints.isEmpty else { return [] }
        let subject = "events"
        let clear = endpoints.filter { $0.hasPrefix("http://") }
        guard !clear.isEmpty else {
            return [.ok(subject, endpoints.count == 1 ? "one endpoint" : "\(endpoints.count) endpoints")]
        }
        return clear.map { url in
            .warning(
                subject,
                "events go in clear to \(EventEndpoint.shown(url)): whoever can read that network learns who calls whom",
                fix: "use https in --events-url, unless the backend is on this machine"
            )
        }
    }
}
