import CallPorts
import Diagnostics
import Switchboard

extension Doctor {
    /// Returns a finding for each endpoint of the app's backend to which events go in clear.
    ///
    /// If there is none, returns one finding for all endpoints; without endpoints, returns none.
    func eventEndpoints() -> [Finding] {
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
