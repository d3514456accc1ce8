extension CallSession {
    /// What can happen to a call, by who causes it.
    public enum Input: Equatable, Sendable {
        // From devices.
        /// A device of either party sent a signal.
        case signal(Signal, from: Side, Phone)

        // From the switchboard.
        /// A device of the callee was told of the call by its socket, or a push was ordered for it.
        case notified(Phone)
        /// A device has no socket any more, and no request under way.
        case gone(Phone, Side)
        /// A device opened a socket or made a request.
        case seen(Phone, Side)
        /// A device goes on under another token, or the name is learnt of one that was known by its token alone.
        case renewed(Phone, as: Phone, Side)
        /// A device was handed the news that it is out of the call.
        case told(Phone, Side)
        /// The callee is in another call, and this server's policy is to say so.
        case foundBusy
        /// The peer's simultaneous call goes on instead.
        case lostGlare(to: CallID)
        /// The caller begins anew under the same callId.
        case replaced
        /// The caller rings the same callee by another call, which goes on instead.
        case gaveWay(to: CallID)

        // From time.
        /// The moment that ``CallSession/deadline`` named has come.
        case deadlineReached
    }

    /// What a call asks of its surroundings, in order.
    public enum Output: Equatable, Sendable {
        /// Keep this entry and hand it to whom it concerns. Of a signal's entry the bytes are those of the signal just handled.
        case append(LogEntry)
        /// The signal was taken, now or before (`isNew` false), and has this number; 0 = it needed no entry.
        case acknowledge(seq: UInt64, isNew: Bool)
        /// The signal was not taken, and nothing changed.
        case refuse(Refusal)
        /// The call no longer rings: nothing more is to be sent to wake anybody.
        case stopRinging
        /// What is kept of the call besides its log has changed.
        case changed
    }

    /// Why a signal is not taken.
    public enum Refusal: Equatable, Sendable {
        /// Another device of the callee has the call, or there is nothing to answer.
        case alreadyAnswered
        /// The call, or the epoch that the signal names, is over.
        case callEnded
        /// The epoch that the signal names has not been yet: a crash took the call.
        case unknownEpoch
        /// The callee offers under the name of the call that rings them.
        case callExists
        /// This device has no part in the call, or its side may not send this.
        case forbidden(String)
        /// The log has reached its limit.
        case logFull
    }
}
