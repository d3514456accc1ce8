import CallCore
import CallPorts
import CallWire

/// A room, independent of how its name is written.
enum RoomKey: Hashable {
    case pair(Pair)
    case group(String)
}

/// Presence in rooms without a call.
extension Switchboard {
    mutating func enter(_ name: String, _ session: Session, id: SignalID?, at now: Moment) {
        let key: RoomKey
        do throws(WireError) { key = try roomKey(name, for: session.who) } catch {
            tell(error, id: id, to: session)
            return
        }
        let members = connections.members(of: key)
        if !members.contains(where: { $0 === session }) {
            guard session.rooms.count < SwitchboardLimits.roomsPerSession else {
                tell(
                    WireError(.rateLimited, "room: at most \(SwitchboardLimits.roomsPerSession) at a time"),
                    id: id,
                    to: session
                )
                return
            }
            guard members.count < policy.sessionsPerRoom else {
                metrics.limited[.roomMembers] += 1
                tell(WireError(.rateLimited, "room: at most \(policy.sessionsPerRoom) members"), id: id, to: session)
                return
            }
            connections.enter(key, session, as: name)
            for member in members {
                present(session, in: key, true, to: member)
                present(member, in: key, true, to: session)
            }
        }
        if let id { turn.out.append(.send(session.id, ServerFrame.ack(id: id))) }
    }

    mutating func leave(_ name: String, _ session: Session, id: SignalID?, at now: Moment) {
        let key: RoomKey
        do throws(WireError) { key = try roomKey(name, for: session.who) } catch {
            tell(error, id: id, to: session)
            return
        }
        remove(session, from: key)
        if let id { turn.out.append(.send(session.id, ServerFrame.ack(id: id))) }
    }

    mutating func leaveAllRooms(_ session: Session) {
        // Sorted by name: the order of the frames to the other members must not be random.
        for (key, _) in session.rooms.sorted(by: { $0.value < $1.value }) { remove(session, from: key) }
    }

    private mutating func remove(_ session: Session, from key: RoomKey) {
        guard connections.leave(key, session) else { return }
        for member in connections.members(of: key) { present(session, in: key, false, to: member) }
    }

    /// Removes a connection from the groups that its new token does not name, and notifies its client.
    mutating func leaveLostGroups(_ session: Session) {
        for (key, _) in session.rooms.sorted(by: { $0.value < $1.value }) {
            guard case .group(let group) = key, !session.who.rooms.contains(group) else { continue }
            tell(session, of: session, in: key, false)
            remove(session, from: key)
        }
    }

    /// Tells a member that a connection enters or leaves.
    ///
    /// In the room of two users a blocked user is not told.
    private mutating func present(_ session: Session, in key: RoomKey, _ isPresent: Bool, to member: Session) {
        if case .pair = key, directory.blocks(member.user, session.user) { return }
        tell(member, of: session, in: key, isPresent)
    }

    /// Tells a member that a connection enters or leaves, with the name by which the member knows the room.
    mutating func tell(_ member: Session, of session: Session, in key: RoomKey, _ isPresent: Bool) {
        guard let room = member.rooms[key] else { return }
        turn.out.append(
            .send(
                member.id,
                ServerFrame.peer(room: room, user: session.user, device: session.phone.id, isPresent: isPresent)
            )
        )
    }

    private func roomKey(_ name: String, for who: Who) throws(WireError) -> RoomKey {
        switch Result(catching: { () throws(Room.Refusal) in try Room(name, for: who.user) }) {
        case .success(.pair(who.user)): throw .invalid(.room, "must name two different users")
        case .success(.pair(let peer)): return .pair(Pair(who.user, peer))
        case .success(.group(let group)):
            guard who.rooms.contains(group) else {
                throw WireError(.forbidden, "room: not in the token's rooms", field: Field.room.name)
            }
            return .group(group)
        case .failure(.malformed): throw .invalid(.room, "must be p2p:<caller>-<callee> or room:<name>")
        case .failure(.foreign): throw WireError(.forbidden, "room: you are not a member", field: Field.room.name)
        }
    }
}
