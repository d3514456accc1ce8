import CallCore
import CallWire

extension SignalMessage {
    /// Returns the other user that a message sent by `user` names by `to` or `room`; `nil` = it has neither.
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
