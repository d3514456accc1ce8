import CallCore
import CallPorts

/// Reports two facts about a connection for the next owner of the calls: the newest entry of each log that was sent to
/// it, and whether it has state that no other owner can restore.
extension Switchboard {
    /// Writes an entry of a call's log to a connection, behind the entry's mark.
    @inline(__always)
    mutating func sendFrame(_ frame: [UInt8], at seq: UInt64, of call: Call, to connection: Connection) {
        if policy.marksLogs { turn.out.append(.marked(connection.id, call.number, seq: seq)) }
        sendFrame(frame, to: connection)
    }

    /// Says whether a connection is bound to this owner, if that has changed.
    mutating func updateBond(of connection: Connection) {
        guard policy.marksLogs else { return }
        let isBound =
            !connection.rooms.isEmpty || !connection.watched.isEmpty || connection.hasRenewedToken
            || connection.watch != nil
            || connection.pendingFrames > 0 || connection.replays.contains { $0.call == nil }
        guard isBound != connection.isBound else { return }
        connection.isBound = isBound
        turn.out.append(.bound(connection.id, isBound))
    }

    /// Binds a connection until one of its frames, which waits for something other than a commit, has been handled.
    ///
    /// The changes of the frame's turn may be durable earlier, so that the frame looks settled.
    mutating func beginPendingFrame(_ connection: Connection) {
        guard policy.marksLogs else { return }
        connection.pendingFrames += 1
        updateBond(of: connection)
    }

    /// Ends the effect of ``beginPendingFrame(_:)`` once all changes so far are durable.
    mutating func endPendingFrame(_ connection: Connection) {
        guard policy.marksLogs else { return }
        guard commits.isDurable else {
            commits.wait(.settled(connection.id), since: turn.now)
            return
        }
        settled(connection.id)
    }

    /// Handles the commit of the last change that a frame has caused.
    mutating func settled(_ id: SocketID) {
        guard let connection = connections[id] else { return }
        connection.pendingFrames -= 1
        updateBond(of: connection)
    }
}
