import CallCore
import CallPorts
import CallTrace
import Diagnostics
import Glibc
import Identity
import Pushes
import Switchboard
import Threads

extension Doctor {
    /// Finds addresses of the listeners for clients and for operators on which a server cannot listen.
    func listeners() -> [Finding] {
        [("listen", settings.listen), ("admin-listen", settings.admin)].compactMap { option, address in
            address.flatMap {
                Rating.listening(NodeProbe.listening(host: $0.host, port: $0.port), $0.text, option: option)
            }
        }
    }

    /// Says from which origins browsers may connect; `nil` if only from the server's own.
    func browserOrigins() -> Finding? {
        let subject = "browsers"
        guard !settings.allowedOrigins.isEmpty else { return nil }
        guard !settings.allowedOrigins.contains("*") else {
            return .warning(
                subject,
                "--allow-origin *: pages of any origin may connect",
                fix: "name the origins of your own pages"
            )
        }
        return .ok(subject, "may also connect from \(settings.allowedOrigins.sorted().joined(separator: ", "))")
    }

    // MARK: APNs

    /// Checks the APNs key, whether Apple accepts it, the topics, and the clock.
    func examineAPNs(_ say: (Finding) -> Void) {
        let configuration: APNsConfiguration
        do throws(UsageError) {
            guard let found = try ServerApplication(settings).apnsConfiguration() else { return say(noAPNs) }
            configuration = found
            do { try APNsProbe.sign(configuration) } catch { throw UsageError(error.description) }
        } catch {
            return say(
                .error("APNs key", error.description, fix: "give Apple's .p8 file with its own key id and team id")
            )
        }
        say(.ok("APNs key", "it can be read and signs a provider token"))
        guard usesNetwork else { return }
        let environments = settings.policy.apnsEnvironment.map { [$0] } ?? APNsEnvironment.allCases
        for environment in environments { probe(configuration, environment, say) }
    }

    private var noAPNs: Finding {
        .warning(
            "APNs key",
            PushSetup.all.allSatisfy { !$0.isConfigured(settings) }
                ? "not configured: pushes are only logged, and sleeping devices do not ring"
                : "not configured: pushes to Apple devices are only logged",
            fix: "give --apns-key-file, --apns-key-id and --apns-team-id"
        )
    }

    /// Checks Firebase's service account, and whether Google accepts it; says nothing if none is configured.
    func examineFirebase(_ say: (Finding) -> Void) {
        let configuration: FirebaseConfiguration
        do throws(UsageError) {
            guard let found = try ServerApplication(settings).firebaseConfiguration() else { return }
            configuration = found
        } catch {
            let fix = "give the JSON file that the Firebase console makes under Service accounts"
            return say(.error("Firebase service account", error.description, fix: fix))
        }
        say(.ok("Firebase service account", "it can be read, of the project \(configuration.account.projectID)"))
        guard usesNetwork else { return }
        say(Rating.message(FirebaseProbe.send(configuration), project: configuration.account.projectID))
    }

    /// Checks the VAPID key, and whether the push services of browsers can be reached; says nothing if Web Push is off.
    func examineWebPush(_ say: (Finding) -> Void) {
        guard let web = settings.webPush else { return }
        let subject = "VAPID key"
        let configuration: WebPushConfiguration
        do throws(UsageError) {
            guard access(web.keyFile, F_OK) == 0 || !web.makesKey else {
                return say(.ok(subject, "the server makes it at its next start"))
            }
            guard let found = try ServerApplication(settings).webPushConfiguration() else { return }
            configuration = found
        } catch {
            let fix = "put the file there: with another key, every browser must subscribe again"
            return say(.error(subject, error.description, fix: fix))
        }
        say(.ok(subject, "it can be read"))
        guard usesNetwork else { return }
        for origin in configuration.hosts.origins {
            say(Rating.responding(WebPushProbe.send(configuration, to: origin), "Web Push, \(origin)", .web))
        }
    }

    /// Warns of devices that no push reaches, because their push service is not configured.
    func examineRoutes() -> [Finding] {
        guard !settings.isInMemory else { return [] }
        // A problem with the records has a finding of its own.
        guard let kinds = try? RecordsPlace(settings).open().reader.registeredKinds() else { return [] }
        return settings.missingServices.filter { service in
            kinds.contains(service.kinds[0]) && !service.kinds[0].isThroughAPNs
        }
        .map { service in
            .warning(
                "devices",
                "some have registered for \(service.name), and \(service.notConfigured)",
                fix: service.remedy
            )
        }
    }

    private func probe(_ configuration: APNsConfiguration, _ environment: APNsEnvironment, _ say: (Finding) -> Void) {
        var known: Set<String> = []
        let all = (bundles + registeredBundles()).filter { known.insert($0).inserted }
        let topics: [String?] = all.isEmpty ? [nil] : all.map { "\($0).voip" }
        var clock: Finding?
        for topic in topics {
            let response = APNsProbe.send(configuration, environment, topic: topic)
            let finding = Rating.push(response.result, environment, topic: topic)
            say(finding)
            guard case .response = response.result else { break }
            let now = SystemClock.wall() / 1_000
            clock =
                clock ?? Rating.clock(now, apple: response.dateSeconds, isTrusted: finding.grade == .ok, environment)
        }
        if let clock { say(clock) }
    }

    // MARK: TURN

    /// Checks each TURN server by taking an allocation as a client would.
    func turn() -> [Finding] {
        guard let turn = settings.turn else {
            let fix = "give --turn-secret-file and --turn-url"
            return [.warning("TURN", "not configured: calls between restrictive networks get no media", fix: fix)]
        }
        let secret: [UInt8]
        var findings: [Finding] = []
        do throws(UsageError) {
            secret = try Keys.secret(turn.secretFile, for: "turn-secret-file") { oddity in
                findings.append(.warning("TURN", oddity, fix: Self.secretFix))
            }
        } catch {
            return [.error("TURN", error.description, fix: "put coturn's static-auth-secret into that file")]
        }
        let credential = TimeLimitedCredential(
            user: "doctor",
            secret: secret,
            ttlSeconds: turn.ttlSeconds,
            now: now / 1_000
        )
        guard usesNetwork else { return findings + [.ok("TURN", "a credential can be made")] }
        return findings
            + turn.urls.compactMap { url in
                guard let server = TURNProbe.Address(url) else { return nil }
                guard !server.isDTLS else {
                    return .warning(
                        "TURN \(url)",
                        "was not tried, because it is TLS over UDP",
                        fix: "configure transport=tcp as well"
                    )
                }
                return Rating.allocation(TURNProbe(server: server, credential: credential).run(), url)
            }
    }
}
