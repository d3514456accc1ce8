package import CallCore
package import CallPorts
package import CallWire

extension Switchboard {
    /// How much a switchboard reports with ``Output/trace(_:)``.
    package enum Detail: UInt8, Comparable, Sendable {
        /// Nothing.
        case none
        /// Connections that open, close or read too slowly, and refusals.
        case connections
        /// Also every decision about a call.
        case calls

        /// Whether `a` reports less than `b`.
        @inlinable
        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    }

    /// An event that is worth a line in the log only while somebody looks for a fault; see ``Detail``.
    ///
    /// It consists of ids, numbers and fixed words: of the data that a client sent, it contains only ids.
    package enum TraceNote: Equatable, Sendable {
        // Reported with the detail `connections` and with the detail `calls`.
        /// A connection was opened, by this device; `isNamed` = the client named the device.
        case opened(SocketID, UserID, DeviceID, isNamed: Bool)
        /// The server closes a connection.
        case closing(SocketID, code: UInt16, reason: String)
        /// A connection was closed; `code` = the close code, if it is known; `openFor` = the time for which the
        /// connection was open.
        case closed(SocketID, UserID, DeviceID, code: UInt16?, openFor: Moment.Duration)
        /// A connection has so many unconfirmed bytes that signals and texts to it may be refused.
        case backlogged(SocketID, bytes: Int)
        /// A connection has caught up.
        case caughtUp(SocketID)
        /// A frame was refused.
        case refusedFrame(SocketID, CallID?, WireError)
        /// A request was refused.
        case refusedRequest(RequestID, WireError)
        /// A query to the store failed.
        case queryFailed(StoreFailure)

        // Reported with the detail `calls` only.
        /// A signal was received, on a connection or in a request.
        indirect case signal(SignalKind, CallID?, from: UserID, DeviceID, Origin)
        /// A request of this name is carried out.
        indirect case request(RequestID, LogWord, UserID, CallID?)
        /// An offer begins a call: `first`, or a `replacement` of a live one; the new call has no number yet.
        case begins(CallID?, LogWord, from: UserID, to: UserID)
        /// A signal, a request or another task waits until calls at rest, or epochs, are read from the store; `calls` = how
        /// many.
        case waits(CallID?, calls: Int)
        /// A step of a call.
        indirect case call(CallTag, CallStep)
    }

    /// The origin of a signal, or the destination of its acknowledgement.
    package enum Origin: Equatable, Sendable {
        /// A connection.
        case connection(SocketID)
        /// A request.
        case request(RequestID)
    }

    /// The identifiers of a call.
    package struct CallTag: Equatable, Sendable {
        /// The callId.
        package let id: CallID
        /// The epoch.
        package let epoch: UInt32
        /// The number in the database.
        package let number: CallNumber

        /// A call with these identifiers.
        package init(id: CallID, epoch: UInt32, number: CallNumber) {
            self.id = id
            self.epoch = epoch
            self.number = number
        }
    }

    /// A step of a call's way through the server.
    package enum CallStep: Equatable, Sendable {
        /// An offer was found to mean this for the call.
        case offer(LogWord)
        /// The call began, and this was decided about it.
        case began(LogWord)
        /// The call was given an input, which may be a signal of a device.
        case input(LogWord, DeviceID?)
        /// A new entry of the log was sent to these connections; an empty list = to no connection.
        case relayed(seq: UInt64, EntryKind, to: [SocketID])
        /// A signal was accepted; `waits` = its acknowledgement waits until the changes are durable.
        case acknowledged(seq: UInt64, to: Origin, waits: Bool)
        /// The call core refused a signal.
        case refused
        /// A fetch got its response.
        case fetched(RequestID)
        /// A connection was sent an entry of the log that it may have missed.
        case replayed(SocketID, seq: UInt64)
        /// An event of this name was added to the timeline.
        case event(String, DeviceID?)
        /// The call's timer fired.
        case timer
        /// The ended call was removed from memory; it stays in the store.
        case putToRest
        /// The ended call was read from the store again.
        case loaded
        /// The ended call can no longer be fetched.
        case forgotten
        /// Changes of the call were handed to the store, with this commit.
        case queuedForCommit(Ticket)
        /// Changes of the call are durable.
        case committed(Ticket)
    }

    /// The content of a log entry, in one word.
    package enum EntryKind: Equatable, Sendable {
        /// A signal.
        case signal(SignalKind)
        /// A change of state.
        case state(CallState)
    }

    /// A word of the log.
    ///
    /// Only a literal can be one, so that no text from outside is logged.
    package struct LogWord: ExpressibleByStringLiteral, Equatable, Sendable {
        /// The word as text.
        package let text: String

        /// A word, from the server's sources.
        package init(stringLiteral word: StaticString) { text = word.description }
    }
}
