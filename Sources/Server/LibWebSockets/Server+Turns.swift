internal import CLibwebsockets
internal import Threads

/// The event loop's turns: posted work, timers, deadlines.
extension Server {
    func runPostedWork() {
        let (work, stops) = inbox.take()
        for work in work { work() }
        if !work.isEmpty { hasWorkedThisTurn = true }
        if stops { uv_stop(handles.loop) }
    }

    func ownerTimerFired() {
        hasWorkedThisTurn = true
        delegate?.timerFired()
    }

    func finishTurn() {
        continueBodies()
        // `loopTurned` may cause more calls of the delegate. These calls count for the next turn, which comes before
        // the loop waits.
        if hasWorkedThisTurn {
            hasWorkedThisTurn = false
            delegate?.loopTurned()
        }
        sendHeld()
    }

    /// Sends to connections and streams what this turn holds back until its end.
    ///
    /// The delegate may call it before work that takes long; what is sent afterwards in the same turn costs another write.
    package func sendHeld() {
        sendHeldFrames()
        if !streams.unflushed.isEmpty { flushStreams() }
    }

    /// The number of connections for which this turn holds frames back.
    package var heldConnectionCount: Int { heldFrames.addressees.count }

    /// The event loop's clock in milliseconds; precise enough for deadlines of seconds.
    var loopMilliseconds: UInt64 { uv_now(handles.loop) }

    /// Starts the timer that checks deadlines every 100 ms, unless it is running.
    func startDeadlines() {
        guard uv_is_active(UnsafeRawPointer(handles.deadlineTimer).assumingMemoryBound(to: uv_handle_t.self)) == 0
        else { return }
        uv_timer_start(handles.deadlineTimer, clwsDeadlineTimer, 100, 100)
    }

    func checkDeadlines() {
        let now = loopMilliseconds
        while let request = bodyDeadlines.popDue(at: now) {
            guard let slot = table.slot(of: request) else { continue }
            let phase = table[slot].phase
            if phase == .body { refuseLateBody(slot) } else if phase == .lingering { abort(slot) }
        }
        while let id = responseDeadlines.popDue(at: now) {
            guard let slot = table.slot(of: id), let wsi = table[slot].wsi else { continue }
            // After the last response the library may wait for the rest of a body.
            if table[slot].isLastRequest || (table[slot].isWatched && lws_partial_buffered(wsi) != 0) {
                abort(slot)
            } else if table[slot].isWatched {
                unwatch(slot)
            }
        }
        while let id = closeDeadlines.popDue(at: now) {
            guard let slot = table.slot(of: id), table[slot].phase == .closing || table[slot].phase == .lingering
            else { continue }
            abort(slot)
        }
        dropLateUnauthenticated(at: now)
        if bodyDeadlines.isEmpty, responseDeadlines.isEmpty, closeDeadlines.isEmpty, !areUnauthenticatedMany {
            uv_timer_stop(handles.deadlineTimer)
        }
    }
}
