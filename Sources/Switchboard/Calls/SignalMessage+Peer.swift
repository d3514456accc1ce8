import CallCore
import CallWire

extension SignalMessage {
    /// Returns the user that the message of a user is for, according to `to` and `room`.
    func peer(for user: UserID) throws(WireError) -> UserID? {
        if to == user { throw .invalid(.to, "must be another user") }
        guard let name = room else { return to }
        switch Result(catching: { () throws(Room.Refusal) in try Room(name, for: user) }) {
        case .success(.pair(let peer)):
            guard peer != user else { throw .invalid(.room, "must name two different users") }
            guard to == nil || to == peer else { throw .invalid(.to, "not a member of the room") }
            return peer
        case .success(.group):
            throw WireError(.forbidden, "room: calls in group rooms are not supported yet", field: Field.room.name)
        case .failure(.malformed): throw .invalid(.room, "must be p2p:<caller>-<callee> or room:<name>")
        case .failure(.foreign): throw WireError(.forbidden, "room: you are not a member", field: Field.room.name)
        }
    }
}
