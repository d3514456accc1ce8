import CallCore
import LibWebSockets
import Nodes
import Switchboard

/// Ends the turns of the loop: commits, pings, and the timer for the next deadline.
extension Gateway {
    /// Ends a turn of the loop: makes one commit of all its changes, and sets the timer for the next deadline.
    ///
    /// There is no commit after each input. A commit wakes the store's thread, and waking it costs more than the
    /// changes do.
    func turn() {
        guard !queue.isBusy else { return }
        if let switchboard { commitChanges(of: switchboard) }
        node?.endTurn()
        flushWorkers()
        setTimer()
    }

    private func commitChanges(of switchboard: SwitchboardBox) {
        repeat {
            // Inputs that the commit has caused are part of this turn.
            handlePendingInputs()
            sendPings()
            endSocketIOTurns()
            guard switchboard.hasChanges else { continue }
            let now = self.now
            if let commitDue, commitDue > now { continue }
            sendBeforeCommit()
            queue.isBusy = true
            switchboard.flush(at: now, into: &queue.outputs)
            perform()
            queue.isBusy = false
        } while !queue.inputs.isEmpty || !queue.pings.isEmpty || !socketIO.needingTurnEnd.isEmpty
    }

    /// Sends what this turn relays before its commit is made, because to encode the changes and to wake the store's thread
    /// takes as long as to relay a signal.
    ///
    /// A commit in memory brings acks in the same turn. If the turn has frames for many connections, these frames wait for
    /// the acks, so that each connection is written to once.
    private func sendBeforeCommit() {
        guard let server, !commits.areImmediate || server.heldConnectionCount <= 2 else { return }
        flushWorkers()
        node?.flushLinks()
        server.sendHeld()
    }

    /// When to commit the pending changes; `nil` to commit immediately, or when nothing has changed.
    ///
    /// The first commit after a quiet time is immediate. Later commits are spaced apart, so that all changes in between
    /// cost one `fsync`, one wake-up of the store's thread, and one of this thread. An ack waits for its commit.
    private var commitDue: Moment? {
        guard let switchboard, let last = commits.last, switchboard.hasChanges, !isDraining else { return nil }
        return last + .milliseconds(configuration.commitSpacingMilliseconds)
    }

    private func setTimer() {
        guard let server else { return }
        // The deadlines are compared one by one: an array of them would be allocated after every turn. A node that has
        // not gathered the others decides nothing yet.
        var next = passesEventsOn ? nil : switchboard?.deadline
        if let check = socketIO.nextCheck { next = next.map { min($0, check) } ?? check }
        if let commitDue { next = next.map { min($0, commitDue) } ?? commitDue }
        if let drainBy = ending.by {
            if hasNoConnections && node?.machine.hasEnded != false || now >= drainBy {
                logDrained()
                server.stop()
                return
            }
            next = min(next ?? drainBy, min(drainBy, now + .milliseconds(50)))
        }
        guard next != timerAt || isDraining else { return }
        timerAt = next
        // For a deadline that has passed, the timer fires after a millisecond. For a deadline that is more than a day
        // away, it fires after a day.
        server.setTimer(afterMilliseconds: next.map { UInt64(min(max(1, ($0 - now).milliseconds), 86_400_000)) })
    }

    func timerDue() {
        timerAt = nil
        if isDraining {
            countConnections()
            logDraining()
        }
        checkSocketIO()
        guard !passesEventsOn else { return }
        // Dates are due by the present wall clock.
        noteWallClock()
        feed(.deadlineReached)
    }
}
