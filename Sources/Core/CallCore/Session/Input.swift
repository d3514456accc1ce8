extension CallSession {
    /// An event in a call; the cases are grouped by source.
    public enum Input: Equatable, Sendable {
        // From devices.
        /// A device of either side sent a signal.
        case signal(Signal, from: Side, DeviceIdentity)

        // From the switchboard.
        /// A device of the callee was notified of the call, on its connection or by a fetch, or a push to the device
        /// was requested.
        case notified(DeviceIdentity)
        /// A device no longer has a connection or a request under way.
        case gone(DeviceIdentity, Side)
        /// A device opened a connection or made a request.
        case seen(DeviceIdentity, Side)
        /// A device continues under another token, or a device that was known by its token alone now has a device id.
        case renewed(DeviceIdentity, as: DeviceIdentity, Side)
        /// A device received the notice that it is out of the call, or sent its own `end` on its connection.
        case endDelivered(DeviceIdentity, Side)
        /// The callee is in another call, and this server's policy is busy; or too many callers ring the callee.
        case foundBusy
        /// The call lost a glare: the callee's simultaneous call goes on instead.
        case lostGlare(to: CallID)
        /// One of the two users begins a new call under the same callId, or the next call of this call's schedule is
        /// due.
        case replaced
        /// The caller rings the same callee with another call, which goes on instead.
        case gaveWay(to: CallID)
        /// The schedule of this call was removed.
        case withdrawn
        /// The user confirmed this scheduled call by a request that is no signal of the call.
        case confirmed

        // From time.
        /// The time in ``CallSession/deadline`` has come.
        case deadlineReached
    }

    /// An action that the session asks of its owner.
    ///
    /// Outputs are carried out in order.
    public enum Output: Equatable, Sendable {
        /// Store this entry and send it to its audience. An entry of a signal has the bytes of the signal that was just
        /// handled.
        case append(LogEntry)
        /// The signal was accepted, now or earlier (`isNew` is false), and its entry has this `seq`; 0 = the signal
        /// needed no entry.
        case acknowledge(seq: UInt64, isNew: Bool)
        /// The signal was refused, and nothing changed.
        case refuse(Refusal)
        /// The call no longer rings: send nothing more to wake a device.
        case stopRinging
        /// The stored state of the call, apart from its log, has changed.
        case changed
    }

    /// The reason why a signal is refused.
    public enum Refusal: Equatable, Sendable {
        /// Another device of the callee has answered, or no offer waits for this answer.
        case alreadyAnswered
        /// The call, or the epoch that the signal names, is over.
        case callEnded
        /// The epoch that the signal names is later than the present epoch: a crash lost the call of that epoch.
        case unknownEpoch
        /// The callee of this ringing call sent an offer under its callId.
        case callExists
        /// This device has no part in the call, or its side may not send this signal.
        case forbidden(String)
        /// The log has reached its limit.
        case logFull
    }
}
