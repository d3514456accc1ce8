import CallCore
import CallPorts

/// The release of entries that were withheld until they are durable.
extension Switchboard {
    /// Shows the entries that have become durable, to the devices that they concern now.
    mutating func release(_ number: CallNumber) {
        guard let call = calls[number], let first = call.withheld.first else { return }
        call.withheld.release(upTo: commits.committed)
        var notified: [(Connection, Side)] = []
        for index in first..<shownCount(of: call) {
            // A connection that was opened when the call was over was sent nothing of it. A withheld offer would ring
            // there; only the call's end, which is sent below, concerns it.
            show(
                call.session.log[index],
                as: call.frame(at: index),
                of: call,
                openedBefore: call.endedAt,
                notified: &notified
            )
        }
        awaitEndConfirmations(of: call, by: notified)
        if call.ringsWhenShown, shownCount(of: call) > 0 {
            call.ringsWhenShown = false
            if case .ringing = call.session.phase { ring(call) }
        }
        // Devices that lost the call, or were in it, may have connected meanwhile. Each is told of its own end.
        if call.session.legs.contains(where: { $0.phase == .endNotDelivered }) {
            for side in Side.allCases {
                for connection in connections.of(call.user(on: side)) where !connection.replays(call.number) {
                    sendEndNotice(of: call, to: connection)
                }
            }
        }
        reschedule(call)
    }
}
