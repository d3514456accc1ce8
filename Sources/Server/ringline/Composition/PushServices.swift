import Backend
import CallPorts
import Gateway
import OutboundHTTP
import Pushes
import ServerLog
import Switchboard
import Threads

/// Hands each push to the service that its route leads through; a service that is not configured only logs.
final class PushServices: PushSender {
    private struct Member {
        let setup: PushSetup
        /// `nil` = the service is not configured.
        let sender: HTTPPushSender?
        let logging: LoggingPushSender
    }

    private let members: [Member]

    /// Creates the senders of the services that are configured.
    ///
    /// `isTest`: Whether a service that can do so only checks pushes. `report`: Called exactly once for each push, as the
    /// senders say.
    init(
        _ application: ServerApplication,
        _ log: ServerLog,
        isTest: Bool = false,
        report: @escaping @Sendable (PushID, PushResult) -> Void
    ) throws(UsageError) {
        do {
            members = try PushSetup.all.map { setup in
                Member(
                    setup: setup,
                    sender: try setup.configuration(application, isTest).map {
                        try HTTPPushSender($0, log: log, report: report)
                    },
                    logging: LoggingPushSender(setup.words, log: log, report: report)
                )
            }
        } catch let error as UsageError { throw error } catch { throw UsageError("\(error)") }
    }

    func send(_ push: OutgoingPush) {
        guard let member = members.first(where: { $0.setup.service.kinds.contains(push.route.kind) }) else {
            preconditionFailure("every kind of push has a service")
        }
        if let sender = member.sender { sender.send(push) } else { member.logging.send(push) }
    }

    /// Asks every service: a service ignores the number of a push that it does not have.
    func cancel(_ id: PushID) {
        for member in members { member.sender?.cancel(id) }
    }

    /// Closes the connections of all services; each has this long for the pushes that are under way.
    func shutdown(limitMilliseconds limit: Int64) {
        for member in members { member.sender?.shutdown(limitMilliseconds: limit) }
    }

    /// The figures of each service; `nil` = it is not configured.
    var figures: [(service: String, figures: HTTPClientFigures?)] {
        members.map { ($0.setup.name, $0.sender?.figures) }
    }

    /// For each service that is configured, a function that runs a closure on the thread of its client.
    var loopPosts: [LoopWatch.Post] {
        members.compactMap(\.sender).map { sender in { sender.onLoop($0) } }
    }

    /// Returns whether there is a sender to a service.
    func has(_ setup: PushSetup) -> Bool { members.contains { $0.setup.name == setup.name && $0.sender != nil } }

    /// Uses the keys of a service of these settings from now on.
    func useKeys(of setup: PushSetup, _ application: ServerApplication) throws(UsageError) {
        guard let configuration = try setup.configuration(application, false) else { return }
        for member in members where member.setup.name == setup.name { member.sender?.use(configuration) }
    }
}

/// What sends requests to other services; empty until it has been made.
struct OutboundClients {
    var push: PushServices?
    var backend = BackendClients()

    /// For each client, a function that runs a closure on its thread.
    var loopPosts: [LoopWatch.Post] { (push?.loopPosts ?? []) + backend.loopPosts }

    /// Closes the connections of all clients; the push services have this long for the pushes that are under way.
    ///
    /// Deliveries of events are cut off: nobody would record their results any more, so the next run repeats them. So are
    /// questions about calls, since no call begins any more.
    func shutdown(limitMilliseconds limit: Int64) {
        backend.shutdown()
        push?.shutdown(limitMilliseconds: limit)
    }
}

extension OutboundFigures {
    /// Returns the figures of all services, for the metrics; a service that is not configured has no requests.
    static func all(_ clients: OutboundClients, _ keySet: KeySetFetcher?) -> [OutboundFigures] {
        let others = [
            ("jwks", keySet?.clientFigures), ("backend", clients.backend.events?.figures),
            ("decisions", clients.backend.decider?.figures),
        ]
        let services = (clients.push?.figures ?? []) + others
        return services.map { service, figures in
            OutboundFigures(
                service: service,
                requests: [
                    ("connecting", figures?.connecting ?? 0), ("resolving", figures?.resolving ?? 0),
                    ("sent", figures?.sent ?? 0), ("waiting", figures?.waiting ?? 0),
                ],
                restingHosts: figures?.restingHosts ?? 0
            )
        }
    }
}
