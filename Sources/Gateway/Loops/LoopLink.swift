import LibWebSockets
import Threads

/// The owner's end of a further loop; used on the owner's thread only.
final class LoopLink {
    let loop: FurtherLoop
    var thread: WorkThread?
    /// The number of connections that the loop last reported; `nil` before its first report.
    var connections: Int?

    private var orders: [LoopOrder] = []
    private var bytes = 0

    init(_ loop: FurtherLoop) { self.loop = loop }

    /// Queues a frame, which is passed to the loop at the end of the owner's turn.
    ///
    /// - Returns: `overflow` if too many bytes already wait for the loop.
    func send(_ frame: [UInt8], to connection: ConnectionID) -> SendOutcome {
        guard bytes + frame.count + loop.orderedBytes <= LoopLimits.orders else { return .overflow }
        order(.send(frame, connection), bytes: frame.count)
        return .queued
    }

    func order(_ order: LoopOrder, bytes more: Int = 0) {
        orders.append(order)
        bytes += more + LoopLimits.overhead
    }

    /// Passes the queued orders to the loop, at the end of the owner's turn.
    func flush() {
        guard !orders.isEmpty else { return }
        var batch: [LoopOrder] = []
        batch.reserveCapacity(orders.count)
        swap(&batch, &orders)
        loop.carryOut(batch, bytes: bytes)
        bytes = 0
    }
}
