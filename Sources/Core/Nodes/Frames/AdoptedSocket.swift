package import CallCore
package import CallPorts

/// A socket that an edge brings to a new owner.
///
/// The new owner sends it no welcome, and replays live calls from behind `seen`.
package struct AdoptedSocket: Equatable, Sendable {
    /// The socket.
    package var socket: SocketID
    /// The user that its edge admitted.
    package var principal: Principal
    /// The device that the address of the upgrade names.
    package var device: DeviceID?
    /// The id that an earlier owner has given the device of a connection that names none.
    package var assigned: DeviceID?
    /// The time for which the socket has been open.
    package var openFor: Moment.Duration
    /// The newest `seq` of each call that was written to the socket, by call number.
    package var seen: [LogMark]

    /// The marks by call; of two for one call, the higher one.
    package var seenByCall: [CallNumber: UInt64] {
        Dictionary(seen.map { ($0.call, $0.seq) }) { max($0, $1) }
    }

    /// Creates an adopted socket.
    package init(
        _ socket: SocketID,
        _ principal: Principal,
        device: DeviceID?,
        assigned: DeviceID? = nil,
        openFor: Moment.Duration,
        seen: [LogMark]
    ) {
        self.socket = socket
        self.principal = principal
        self.device = device
        self.assigned = assigned
        self.openFor = openFor
        self.seen = seen
    }
}
