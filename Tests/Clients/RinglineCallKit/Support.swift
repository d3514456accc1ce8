import CallClient
import CallCore
import CallKit
import Foundation
import KitFakes
import PushKit
import RinglineCallKit
import RinglineKit
import Testing

/// A device of user 10 whose calls CallKit shows, and the stubs that play its system.
@MainActor
struct StubbedDevice {
    let device: FakeDevice
    let adapter: CallKitSystem
    let system: CXSystem
    let registry = PKPushRegistry(queue: nil)

    init(
        _ name: String,
        on server: FakeServer,
        answers: CallKitSystem.AnswerFulfilment = .whenConnected,
        _ change: (inout CallKitSystem.Configuration) -> Void = { _ in }
    ) {
        var configuration = CallKitSystem.Configuration()
        configuration.answerFulfilment = answers
        change(&configuration)
        adapter = CallKitSystem(configuration)
        system = adapter.provider.system
        device = server.add("10", name, adapter)
    }

    /// Launches the app in the background, as a push does it.
    func launch() { device.launch(inForeground: false) }

    /// The reports and completions of a push before its delegate method returned.
    struct Delivery {
        /// The reports that were made meanwhile.
        var reports: [CXSystem.Report]
        /// Whether the completion handler was called.
        var isComplete: Bool
    }

    /// Delivers a push as PushKit does, and says what had happened when the method returned.
    func deliver(_ push: [AnyHashable: Any], by method: Method = .old) -> Delivery {
        let before = system.reports.count
        let flag = Flag()
        let payload = PKPushPayload(type: .voIP, dictionaryPayload: push)
        let delegate: any PKPushRegistryDelegate = adapter
        switch method {
        case .old:
            delegate.pushRegistry(registry, didReceiveIncomingPushWith: payload, for: .voIP) { flag.set() }
        case .new(let mustReport):
            delegate.pushRegistry(
                registry,
                didReceiveIncomingVoIPPushWith: payload,
                metadata: PKVoIPPushMetadata(mustReport: mustReport),
                withCompletionHandler: { flag.set() }
            )
        }
        return Delivery(reports: Array(system.reports[before...]), isComplete: flag.isSet)
    }

    /// The method of PushKit's delegate.
    enum Method: Sendable {
        case old
        /// iOS 26.4's.
        case new(mustReport: Bool)
    }

    /// The UUIDs of the calls that were reported as incoming.
    var incoming: [UUID] {
        system.reports.compactMap { if case .incoming(let call, _, _) = $0 { call } else { nil } }
    }

    /// Has the user answer the call that was reported last.
    func answer() throws -> CXAnswerCallAction {
        let action = CXAnswerCallAction(call: try #require(incoming.last))
        system.perform(action)
        return action
    }
}

/// A flag that completion handlers set.
final class Flag: @unchecked Sendable {
    // @unchecked: the lock guards the value.
    private let lock = NSLock()
    private var value = false
    private let (signals, signal) = AsyncStream<Void>.makeStream()

    var isSet: Bool { lock.withLock { value } }

    func set() {
        lock.withLock { value = true }
        signal.finish()
    }

    /// Waits until the flag is set.
    func wait() async { for await _ in signals {} }
}

extension [CXSystem.Report] {
    /// Whether a report of an incoming call is among them.
    var hasIncoming: Bool { contains { if case .incoming = $0 { true } else { false } } }
    /// Why calls ended, in order.
    var ends: [CXCallEndedReason] { compactMap { if case .ended(_, let reason) = $0 { reason } else { nil } } }
}
