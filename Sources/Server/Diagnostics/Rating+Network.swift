import CallCore
package import CallPorts
import CallTrace

/// Rates the responses of Apple and of TURN servers.
extension Rating {
    /// Interprets Apple's response to a push for a device that does not exist.
    package static func push(_ result: PushResult, _ environment: APNsEnvironment, topic: String?) -> Finding {
        let subject = "APNs \(environment.rawValue)" + (topic.map { ", topic \($0)" } ?? "")
        let hint = PushService.apns.hint(for: result)
        switch result {
        case .response(200, _, _), .response(_, "BadDeviceToken", _), .response(_, "Unregistered", _),
            .response(_, "DeviceTokenNotForTopic", _):
            return .ok(subject, "accepts the provider token")
        case .response(_, "MissingTopic", _) where topic == nil:
            return .ok(subject, "accepts the provider token; without a registered device no topic was checked")
        case .response(let status, let reason, _), .deferred(let status, let reason, _):
            return refusal(subject, status, reason, hint, PushService.apns.owner)
        case .unreachable(let why), .notSent(let why):
            return unreachable(subject, why)
        case .impossible(let fault): return .warning(subject, fault.rawValue, fix: fault.remedy)
        case .cancelled, .onlyLogged: return .warning(subject, "was not asked", fix: "try again")
        }
    }

    /// Interprets Firebase's response to a message that is only checked, for a device that does not exist.
    package static func message(_ result: PushResult, project: String) -> Finding {
        let subject = "Firebase, project \(project)"
        let hint = PushService.firebase.hint(for: result)
        switch result {
        case .response(200, _, _): return .ok(subject, "accepts the service account")
        // Google checks the account first. What it then finds wrong is the token, which does not exist.
        case .response(400, "INVALID_ARGUMENT", _),
            .response where result.condemnsToken(of: .firebase):
            return .ok(subject, "accepts the service account")
        case .response(let status, let reason, _), .deferred(let status, let reason, _):
            return refusal(subject, status, reason, hint, PushService.firebase.owner)
        case .unreachable(let why):
            return unreachable(subject, why)
        case .notSent(let why):
            let fix = "check token_uri in the service account's file, and the network and the proxy to it"
            return .error(subject, "cannot be asked: \(why)", fix: fix)
        case .impossible(let fault): return .warning(subject, fault.rawValue, fix: fault.remedy)
        case .cancelled, .onlyLogged: return .warning(subject, "was not asked", fix: "try again")
        }
    }

    /// Interprets the response to a push for a device that does not exist, of a service that looks for the device first: it
    /// does not say whether it would accept the server.
    package static func responding(_ result: PushResult, _ subject: String, _ service: PushService) -> Finding {
        switch result {
        case .response(let status, let reason, _), .deferred(let status, let reason, _):
            guard status < 500, status != 429 else {
                return refusal(subject, status, reason, nil, service.owner)
            }
            return .ok(subject, "responds")
        case .unreachable(let why), .notSent(let why):
            return unreachable(subject, why)
        case .impossible(let fault): return .warning(subject, fault.rawValue, fix: fault.remedy)
        case .cancelled, .onlyLogged: return .warning(subject, "was not asked", fix: "try again")
        }
    }

    /// A push service that is configured but cannot be reached rings no device.
    private static func unreachable(_ subject: String, _ why: String) -> Finding {
        .error(subject, "could not be reached: \(why)", fix: "allow TCP 443 to it, or set https_proxy")
    }

    private static func refusal(
        _ subject: String,
        _ status: Int,
        _ reason: String?,
        _ hint: String?,
        _ whose: String
    ) -> Finding {
        let said = "responds with \(status)\(reason.map { " \($0)" } ?? "")"
        return status >= 500 || status == 429
            ? .warning(subject, said, fix: hint ?? "try again later")
            : .error(subject, said, fix: hint ?? "look the reason up in \(whose) documentation")
    }

    /// Rates the difference between this machine's clock and Apple's.
    ///
    /// Both times are in seconds since 1970; `apple` is `nil` if Apple's response had no date. `isTrusted` is whether
    /// Apple accepted a provider token with this clock's time. Returns `nil` if there is neither a date nor an accepted
    /// token.
    package static func clock(_ now: Int64, apple: Int64?, isTrusted: Bool, _ environment: APNsEnvironment) -> Finding?
    {
        let subject = "clock"
        let fix = "synchronise the clock with chrony or systemd-timesyncd"
        guard let apple else {
            guard isTrusted else { return nil }
            return .ok(
                subject,
                "APNs \(environment.rawValue) sends no date, but accepts a token with this clock's time, so it is right within an hour"
            )
        }
        let skew = now - apple
        let words =
            "this machine's clock is \(skew.magnitude) s \(skew < 0 ? "behind" : "ahead of") APNs \(environment.rawValue)'s"
        if skew.magnitude >= 300 { return .error(subject, words, fix: fix) }
        if skew.magnitude >= 10 { return .warning(subject, words, fix: fix) }
        return .ok(subject, "within \(max(1, skew.magnitude)) s of APNs \(environment.rawValue)'s")
    }

    private static let turnFix = "check that the server runs and that its port and its relay ports are open"

    /// Interprets the result of an allocation.
    package static func allocation(_ outcome: TURNProbe.Outcome, _ url: String) -> Finding {
        let subject = "TURN \(url)"
        switch outcome.result {
        case .allocated(let seconds):
            if let fault = outcome.certificateFault {
                let text = "granted an allocation, but its certificate is not trusted: \(fault)"
                return .warning(
                    subject,
                    text,
                    fix: "use a certificate for that name from an authority that devices trust"
                )
            }
            return .ok(subject, "granted an allocation" + (seconds.map { " for \($0) s" } ?? ""))
        case .allocatedWithoutCredential:
            let fix = "set use-auth-secret and static-auth-secret= in turnserver.conf"
            return .warning(subject, "granted an allocation without a credential", fix: fix)
        case .refused(401, _), .refused(441, _):
            return .error(
                subject,
                "refuses the credential",
                fix:
                    "--turn-secret-file must hold coturn's static-auth-secret (with use-auth-secret), and both clocks must agree"
            )
        case .refused(let code, let reason):
            let fix = "see its log, and check its quota and the ports and addresses that it may use"
            return .error(subject, "refuses an allocation: \(code) \(reason)", fix: fix)
        case .silent(let why): return .error(subject, why, fix: turnFix)
        }
    }
}
