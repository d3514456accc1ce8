import Backend
import CallCore
import CallPorts
import Crypto
import Diagnostics
import Switchboard

extension Doctor {
    /// Returns the findings about the addresses of the app's backend: whether requests go to them in clear and, if the
    /// doctor may use the network, whether they accept a signed request and refuse a request with another signature.
    func backendAddresses() -> [Finding] {
        eventFindings() + decisionFindings()
    }

    private func eventFindings() -> [Finding] {
        let endpoints = settings.policy.events?.endpoints ?? []
        return endpoints.flatMap { url in
            inClear(url, "events", "--events-url", "events go", "who calls whom") + probe(url)
        }
    }

    private func decisionFindings() -> [Finding] {
        guard let url = settings.backend?.decideURL else { return [] }
        return inClear(url, "decisions", "--decide-url", "questions about calls go", "who calls whom, and can decide")
            + ask(url)
    }

    private func inClear(
        _ url: String,
        _ subject: String,
        _ setting: String,
        _ what: String,
        _ secret: String
    ) -> [Finding] {
        // Traffic within this machine needs no TLS.
        let isLocal = ["127.", "localhost:", "localhost/", "[::1]"].contains { url.hasPrefix("http://\($0)") }
        guard url.hasPrefix("http://"), !isLocal else { return [] }
        return [
            .warning(
                subject,
                "\(what) in clear to \(EventEndpoint.shown(url)): whoever can read that network learns \(secret)",
                fix: "use https in \(setting), unless the backend is on this machine"
            )
        ]
    }

    // MARK: Probes

    /// The event of a probe; receivers ignore its type, as they ignore all types that they do not know.
    private static func probeEvent(_ id: String) -> [UInt8] {
        Array(#"{"type":"ringline.probe","id":"\#(id)","cursor":null,"data":{}}"#.utf8)
    }

    private func probe(_ url: String) -> [Finding] {
        examine(url, "events", whenOff: "events go to") { probe in
            let id = "evt_probe_\(SecureRandom.bytes(6).map { String($0, radix: 16) }.joined())"
            return probe.post(Self.probeEvent(id), id: id, to: url, timeout: EventRequest.timeout)
        } judge: { status, _ in
            (200...299).contains(status) ? nil : "it refuses a signed event with the status \(status)"
        }
    }

    private func ask(_ url: String) -> [Finding] {
        let timeout = settings.policy.decisions?.timeout ?? DecisionPolicy().timeout
        return examine(url, "decisions", whenOff: "questions go to") { probe in
            let id = "dec_probe_\(SecureRandom.bytes(6).map { String($0, radix: 16) }.joined())"
            return probe.post(DecisionProbe.question, id: id, to: url, timeout: timeout)
        } judge: { status, body in
            status == 200 ? DecisionProbe.fault(of: body) : "it refuses a signed question with the status \(status)"
        }
    }

    /// Posts a probe with the right signature, and one with a false one.
    ///
    /// `whenOff`: What is said of the address if the doctor may not use the network. `judge`: Returns what is wrong with
    /// a response to the right signature; `nil` = nothing.
    private func examine(
        _ url: String,
        _ subject: String,
        whenOff: String,
        _ post: (BackendProbe) -> BackendProbe.Outcome,
        judge: (Int, [UInt8]) -> String?
    ) -> [Finding] {
        let shown = EventEndpoint.shown(url)
        guard usesNetwork else { return [.ok(subject, "\(whenOff) \(shown)")] }
        do throws(UsageError) {
            switch post(try probe(signing: true)) {
            case .unreachable(let why):
                let fix = "start your backend, and check the address"
                return [.error(subject, "\(shown) cannot be reached: \(why)", fix: fix)]
            case .response(let status, let body):
                if let fault = judge(status, body) {
                    return [.error(subject, "\(shown): \(fault)", fix: Self.fix(status))]
                }
            }
            guard case .response(let status, _) = post(try probe(signing: false)), (200...299).contains(status) else {
                return [.ok(subject, "\(shown) accepts the server's signature, and no other")]
            }
            return [
                .warning(
                    subject,
                    "\(shown) accepts a request with a false signature: whoever can reach it can forge requests",
                    fix: "verify the signature with a library of Standard Webhooks, and respond with 401"
                )
            ]
        } catch { return [.error(subject, error.description, fix: "see 'ringline events secret --help'")] }
    }

    /// Returns what to do about a response with a status that is no success, or with a body that is no decision.
    private static func fix(_ status: Int) -> String {
        switch status {
        case 401, 403: "give your backend the secret of --events-secret-file, and compare the clocks"
        case 404, 405: "check the path of the address, and that your backend serves POST there"
        case 500...599: "see your backend's log"
        case 200...299: "respond with a decision, as in 'Who may call whom'"
        default: "give the address that responds itself: no redirect is followed"
        }
    }

    /// Returns what posts probes, signed with the server's secrets, or with one that the backend does not know.
    private func probe(signing isRight: Bool) throws(UsageError) -> BackendProbe {
        guard let backend = settings.backend else { throw UsageError("there is no backend") }
        let secrets =
            isRight
            ? try EventSecrets.read(backend.secretFile, for: "events-secret-file") : WebhookSecrets([.make()])
        var configuration = BackendConfiguration(secrets: secrets, version: Version.text) { [now] in now }
        configuration.caFile = backend.caFile
        return BackendProbe(configuration)
    }
}
