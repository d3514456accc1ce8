import CallCore
import CallPorts
import CallTrace
import CallWire
import Gateway
import ServerLog
import Switchboard
import Threads

/// Reads calls for the operators' page, as `ringline calls` and `ringline explain` do.
///
/// It has a thread and a connection of its own, so that no search delays a signal or a commit. It sees what was
/// committed, on each of several nodes.
final class CallsReader: Sendable {
    /// The number of requests that may wait.
    private static let mostWaiting = 16

    private struct Work: Sendable {
        let request: OperatorRequest
        let respond: @Sendable (Reply) -> Void
    }

    private let inbox: Inbox<Work>
    private let thread: WorkThread

    init(_ settings: ServeSettings, _ log: ServerLog) throws(UsageError) {
        let place = RecordsPlace(settings)
        let missing = settings.missingServices
        let inbox = Inbox<Work>(limit: Self.mostWaiting)
        self.inbox = inbox
        do throws(WorkThread.Refused) {
            thread = try WorkThread(named: "operators") {
                while let next = inbox.takeAll() {
                    for work in next.elements { work.respond(Self.reply(to: work.request, from: place, missing, log)) }
                }
            }
        } catch {
            throw UsageError("the system cannot start a thread for --operator-pages: \(error.reason)")
        }
    }

    deinit { inbox.close() }

    /// Reads the calls of a request, and then calls `respond` on another thread; at once if too many requests wait.
    func read(_ request: OperatorRequest, _ respond: @escaping @Sendable (Reply) -> Void) {
        guard !inbox.put(Work(request: request, respond: respond)) else { return }
        respond(Reply(WireError(.rateLimited, "at most \(Self.mostWaiting) searches at a time")))
    }

    private static func reply(
        to request: OperatorRequest,
        from place: RecordsPlace,
        _ missing: [PushService],
        _ log: ServerLog
    ) -> Reply {
        do {
            guard let body = try body(of: request, from: place.open(), missing) else {
                return Reply(WireError(.notFound, "no such call"))
            }
            return Reply(body: body)
        } catch {
            let reason = (error as? StoreFailure)?.message ?? "\(error)"
            log.warning("the calls cannot be read for the operators' page", [.error(UntrustedText(reason))])
            return Reply(WireError(.storeUnavailable, "the calls cannot be read"))
        }
    }

    /// Returns the body of the response; `nil` = there is no such call.
    private static func body(
        of request: OperatorRequest,
        from records: Records,
        _ missing: [PushService]
    ) throws -> [UInt8]? {
        let reader = records.reader
        let calls: [CallRecord] =
            switch request {
            case .overview(let limit): try reader.liveCalls(limit: limit) + reader.endedCalls(limit: limit)
            case .calls(let user, let limit, let before): try reader.history(of: user, limit: limit, before: before)
            case .namesakes(let id, let limit): try reader.calls(CallSelector(id), limit: limit)
            case .timeline(let choice): try reader.calls(choice, limit: 1)
            }
        let origin = try records.origin()
        let now = Moment(milliseconds: SystemClock.wall())
        var names = DeviceNames(reader)
        let explanations = try calls.map { call in
            Explanation(
                record: call,
                events: try reader.timeline(of: call.number),
                log: try reader.log(of: call.number),
                devices: try names.devices(of: call.callee),
                recordsFrom: origin.source,
                at: now
            )
        }
        switch request {
        case .overview:
            let live = explanations.prefix { $0.record.endedAt == nil }
            let faults = try faults(origin, missing, among: reader.registeredKinds())
            return Overview.body(live: Array(live), ended: Array(explanations.dropFirst(live.count)), faults: faults)
        case .timeline: return explanations.first?.body
        case .calls, .namesakes: return CallList.body(explanations)
        }
    }

    /// Returns what is wrong with the server itself, in sentences.
    private static func faults(
        _ origin: (source: Explanation.RecordSource, line: String?),
        _ missing: [PushService],
        among registered: Set<PushKind>
    ) -> [String] {
        var faults = missing.filter { registered.contains($0.kinds[0]) }.map { service in
            "Devices have registered for \(service.name), and \(service.notConfigured): \(service.remedy)."
        }
        if origin.source == .noServer, let line = origin.line {
            faults.append(line.split(separator: "\n").joined() + " No call rings until a server does.")
        }
        return faults
    }
}
