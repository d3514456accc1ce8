import ApplePush
import CallPorts
import Identity
import Switchboard
import Threads

extension Doctor {
    // MARK: APNs

    /// Checks the APNs key, whether Apple accepts it, the topics, and the clock.
    func examineAPNs(_ say: (Finding) -> Void) {
        guard settings.apns != nil else {
            let fix = "give --apns-key-file, --apns-key-id and --apns-team-id"
            return say(
                .warning("APNs key", "there is none: pushes are only logged, sleeping phones do not ring", fix: fix)
            )
        }
        let configuration: APNsConfiguration
        do throws(Complaint) {
            configuration = try Launch(settings).apnsConfiguration()
            do { try APNsProbe.sign(configuration) } catch { throw Complaint(error.description) }
        } catch {
            return say(.error("APNs key", error.description, fix: "Apple's .p8 file, with its own key id and team id"))
        }
        say(.ok("APNs key", "it parses and signs a provider token"))
        guard usesNetwork else { return }
        let environments = settings.policy.apnsEnvironment.map { [$0] } ?? APNsEnvironment.allCases
        for environment in environments { ask(configuration, environment, say) }
    }

    private func ask(_ configuration: APNsConfiguration, _ environment: APNsEnvironment, _ say: (Finding) -> Void) {
        var known: Set<String> = []
        let all = (bundles + registeredBundles()).filter { known.insert($0).inserted }
        let topics: [String?] = all.isEmpty ? [nil] : all.map { "\($0).voip" }
        var clock: Finding?
        for topic in topics {
            let answer = APNsProbe.ask(configuration, environment, topic: topic)
            let finding = Self.finding(answer.result, environment, topic: topic)
            say(finding)
            guard case .answered = answer.result else { break }
            let now = SystemClock.wall() / 1_000
            clock = clock ?? Self.clock(now, apple: answer.dateSeconds, isTrusted: finding.grade == .ok, environment)
        }
        if let clock { say(clock) }
    }

    /// Interprets Apple's answer to a push for a device that does not exist.
    static func finding(_ result: PushResult, _ environment: APNsEnvironment, topic: String?) -> Finding {
        let subject = "APNs \(environment.rawValue)" + (topic.map { ", topic \($0)" } ?? "")
        let hint = PushHint.text(for: result)
        switch result {
        case .answered(200, _, _), .answered(_, "BadDeviceToken", _), .answered(_, "Unregistered", _),
            .answered(_, "DeviceTokenNotForTopic", _):
            return .ok(subject, "takes the provider token")
        case .answered(_, "MissingTopic", _) where topic == nil:
            return .ok(subject, "takes the provider token; no device is registered whose topic could be asked about")
        case .answered(let status, let reason, _):
            let said = "answers \(status)\(reason.map { " \($0)" } ?? "")"
            return status >= 500 || status == 429
                ? .warning(subject, said, fix: hint ?? "ask again in a while")
                : .error(subject, said, fix: hint ?? "see Apple's table of reasons")
        case .unreachable(let why):
            return .warning(subject, "could not be asked: \(why)", fix: "allow TCP 443 to it, or set https_proxy")
        case .cancelled, .onlyLogged: return .warning(subject, "was not asked", fix: "ask again")
        }
    }

    /// Rates the difference between this machine's clock and Apple's, in whole seconds.
    static func clock(_ now: Int64, apple: Int64?, isTrusted: Bool, _ environment: APNsEnvironment) -> Finding? {
        let subject = "clock"
        let fix = "synchronise it: chrony or systemd-timesyncd"
        guard let apple else {
            guard isTrusted else { return nil }
            return .ok(
                subject,
                "APNs \(environment.rawValue) sends no date, but takes a token of this clock: within an hour"
            )
        }
        let skew = now - apple
        let words =
            "this machine's is \(skew.magnitude) s \(skew < 0 ? "behind" : "ahead of") APNs \(environment.rawValue)'s"
        if skew.magnitude >= 300 { return .error(subject, words, fix: fix) }
        if skew.magnitude >= 10 { return .warning(subject, words, fix: fix) }
        return .ok(subject, "within \(max(1, skew.magnitude)) s of APNs \(environment.rawValue)'s")
    }

    // MARK: TURN

    /// Checks each TURN server by taking an allocation as a client would.
    func turn() -> [Finding] {
        guard let turn = settings.turn else {
            let fix = "give --turn-secret-file and --turn-url"
            return [.warning("TURN", "there is none: calls between strict networks get no media", fix: fix)]
        }
        let secret: [UInt8]
        var findings: [Finding] = []
        do throws(Complaint) {
            secret = try Keys.secret(turn.secretFile, for: "turn-secret-file") { oddity in
                findings.append(.warning("TURN", oddity, fix: Self.secretFix))
            }
        } catch {
            return [.error("TURN", error.description, fix: "put coturn's static-auth-secret into that file")]
        }
        let credential = TurnCredential(user: "doctor", secret: secret, ttlSeconds: turn.ttlSeconds, now: now / 1_000)
        guard usesNetwork else { return findings + [.ok("TURN", "a credential can be made")] }
        return findings
            + turn.urls.compactMap { url in
                guard let server = TurnProbe.Address(url) else { return nil }
                guard !server.isDTLS else {
                    return .warning("TURN \(url)", "was not tried: TLS over UDP", fix: "try transport=tcp as well")
                }
                return Self.finding(TurnProbe(server: server, credential: credential).run(), url)
            }
    }

    private static let turnFix = "see that the server runs, and that its port and its relay ports are open"

    /// Interprets the result of an allocation.
    static func finding(_ outcome: TurnProbe.Outcome, _ url: String) -> Finding {
        let subject = "TURN \(url)"
        switch outcome.result {
        case .allocated(let seconds):
            if let fault = outcome.certificateFault {
                let text = "granted an allocation, but its certificate is not trusted: \(fault)"
                return .warning(subject, text, fix: "a certificate for that name, of an authority that phones know")
            }
            return .ok(subject, "granted an allocation" + (seconds.map { " for \($0) s" } ?? ""))
        case .allocatedWithoutCredential:
            let fix = "use-auth-secret and static-auth-secret= in turnserver.conf"
            return .warning(subject, "granted an allocation to somebody without a credential", fix: fix)
        case .refused(401, _), .refused(441, _):
            return .error(
                subject,
                "refuses the credential",
                fix:
                    "--turn-secret-file must hold coturn's static-auth-secret (with use-auth-secret), and both clocks agree"
            )
        case .refused(let code, let reason):
            let fix = "its log says why: the quota, the ports and the addresses that it may use"
            return .error(subject, "refuses an allocation: \(code) \(reason)", fix: fix)
        case .silent(let why): return .error(subject, why, fix: turnFix)
        }
    }
}
