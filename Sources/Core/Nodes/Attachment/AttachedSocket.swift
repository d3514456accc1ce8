import CallCore
import CallPorts

/// A socket of this node, as its attachment knows it.
struct AttachedSocket: Equatable {
    /// The user; `nil` for a Socket.IO session, whose user the owner alone knows.
    var principal: Principal?
    var device: DeviceID?
    /// The id that an owner has given the device of a client that names none.
    var assignedDevice: DeviceID?
    var openedAt: Moment
    /// Whether an owner has been told of the socket.
    var isKnownToOwner = false
    /// Whether an owner has sent the socket a message; the first one is `welcome`.
    var isWelcome = false
    /// Whether only the owner has some of the socket's state.
    var isBound: Bool
    /// The number of the socket's newest event that needs a confirmation; 0 = the owner of now has none.
    var newestNumber: UInt64 = 0
    /// The number of the socket's events that wait for an owner.
    var waiting = 0
    /// The bytes of these events.
    var waitingBytes = 0
    /// Whether the socket was closed while its events waited.
    var isClosed = false
    /// The newest `seq` of each call that was written to the socket; the call that was written to last comes last.
    private(set) var seen: [LogMark] = []

    init(principal: Principal?, device: DeviceID?, openedAt: Moment) {
        self.principal = principal
        self.device = device
        self.openedAt = openedAt
        isBound = principal == nil
    }

    /// Records what a message that was written contains.
    ///
    /// A newer mark replaces an older one, even a higher one: a log that is replayed again is shown from its beginning.
    mutating func note(_ marks: [LogMark]) {
        for mark in marks {
            if let place = seen.lastIndex(where: { $0.call == mark.call }) {
                if place == seen.index(before: seen.endIndex) {
                    seen[place] = mark
                    continue
                }
                seen.remove(at: place)
            } else if seen.count >= NodeLimits.seenCalls {
                // A device takes part in few calls at a time, so the oldest one has ended.
                seen.removeFirst()
            }
            seen.append(mark)
        }
    }

    /// The socket as a new owner gets it; `nil` for a Socket.IO session.
    func adopted(_ socket: SocketID, at now: Moment) -> AdoptedSocket? {
        guard let principal else { return nil }
        return AdoptedSocket(
            socket,
            principal,
            device: device,
            assigned: assignedDevice,
            openFor: now - openedAt,
            seen: seen.sorted { $0.call < $1.call }
        )
    }
}
