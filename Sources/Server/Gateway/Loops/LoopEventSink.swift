import CallPorts
import Threads

/// The destination of a loop's events: the gateway, on this thread or another one.
enum LoopEventSink {
    /// The gateway runs on the loop's own thread and takes each event while it happens. Nothing is queued.
    ///
    /// The reference is unmanaged, because counting it for each message would be the only cost of the sink. The gateway
    /// outlives every event: the loop runs within ``Gateway/run()``, and its server calls no delegate after that.
    case gateway(Unmanaged<Gateway>)
    /// The gateway runs on another thread and gets one batch per turn of the loop.
    case batches(LoopEventBatches)
}

/// The events of a loop, passed to a gateway on another thread in one batch per turn of the loop.
///
/// A batch keeps the order of its events, and a busy loop wakes the gateway once for many events.
///
/// It is confined to the loop's thread, except ``lift()``.
final class LoopEventBatches {
    /// Passes a batch to the gateway's thread, which calls `taken` when it has handled the batch.
    typealias Delivery = @Sendable (_ events: [LoopEvent], _ taken: @escaping @Sendable () -> Void) -> Void

    private let deliver: Delivery
    /// The bytes of events that were passed to the gateway, which has not taken them yet.
    private let backpressure = Monitor(BackpressureLimit(LoopLimits.events))
    private var events: [LoopEvent] = []
    private var bytes = 0

    init(deliver: @escaping Delivery) { self.deliver = deliver }

    /// Adds an event to the batch of this turn; `bytes` is the size of its payload.
    func append(_ event: LoopEvent, bytes more: Int) {
        events.append(event)
        bytes += more + LoopLimits.overhead
    }

    /// Passes the events of this turn to the gateway; first waits while too many bytes of earlier events are under way.
    func send() {
        guard !events.isEmpty else { return }
        var batch: [LoopEvent] = []
        batch.reserveCapacity(events.count)
        swap(&batch, &events)
        let bytes = bytes
        self.bytes = 0
        backpressure.wait { $0.enter(bytes) }
        deliver(batch) { [backpressure] in backpressure.withLock { $0.leave(bytes) } }
    }

    /// Ends the loop's waiting for good, because the gateway has stopped; from any thread.
    func lift() { backpressure.withLock { $0.lift() } }
}
