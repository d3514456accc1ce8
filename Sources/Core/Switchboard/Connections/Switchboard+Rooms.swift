import CallCore
import CallPorts
import CallWire

/// A room, independent of how its name is written.
enum RoomKey: Hashable {
    case pair(Pair)
    case group(String)
}

/// Presence in rooms, which a client may enter without a call.
extension Switchboard {
    mutating func enter(_ name: String, _ connection: Connection, id: SignalID?) {
        let key: RoomKey
        do throws(WireError) { key = try roomKey(name, for: connection.principal) } catch {
            tell(error, id: id, to: connection)
            return
        }
        let members = connections.members(of: key)
        if !members.contains(where: { $0 === connection }) {
            guard connection.rooms.count < SwitchboardLimits.roomsPerConnection else {
                let rule = "room: at most \(SwitchboardLimits.roomsPerConnection) at a time"
                tell(exceeded(.rooms, rule), id: id, to: connection)
                return
            }
            guard members.count < policy.connectionsPerRoom else {
                let rule = "room: at most \(policy.connectionsPerRoom) members"
                tell(exceeded(.roomMembers, rule), id: id, to: connection)
                return
            }
            connections.enter(key, connection, as: name)
            updateBond(of: connection)
            for member in members {
                sendPresence(connection, in: key, true, to: member)
                sendPresence(member, in: key, true, to: connection)
            }
        }
        if let id { turn.out.append(.send(connection.id, ServerFrame.ack(id: id))) }
    }

    mutating func leave(_ name: String, _ connection: Connection, id: SignalID?) {
        let key: RoomKey
        do throws(WireError) { key = try roomKey(name, for: connection.principal) } catch {
            tell(error, id: id, to: connection)
            return
        }
        remove(connection, from: key)
        updateBond(of: connection)
        if let id { turn.out.append(.send(connection.id, ServerFrame.ack(id: id))) }
    }

    mutating func leaveAllRooms(_ connection: Connection) {
        // Sorted by name: the order of the frames to the other members must not be random.
        for (key, _) in connection.rooms.sorted(by: { $0.value < $1.value }) { remove(connection, from: key) }
    }

    private mutating func remove(_ connection: Connection, from key: RoomKey) {
        guard connections.leave(key, connection) else { return }
        for member in connections.members(of: key) { sendPresence(connection, in: key, false, to: member) }
    }

    /// Removes a connection from the group rooms that its new token does not name, and notifies the connection's
    /// client.
    mutating func leaveLostGroups(_ connection: Connection) {
        for (key, _) in connection.rooms.sorted(by: { $0.value < $1.value }) {
            guard case .group(let group) = key, !connection.principal.rooms.contains(group) else { continue }
            tell(connection, of: connection, in: key, false)
            remove(connection, from: key)
        }
    }

    /// Tells a member that a connection enters or leaves.
    ///
    /// In the room of two users, a member whom the connection's user has blocked is not told.
    private mutating func sendPresence(
        _ connection: Connection,
        in key: RoomKey,
        _ isPresent: Bool,
        to member: Connection
    ) {
        if case .pair = key, directory.isBlocked(member.user, by: connection.user) { return }
        tell(member, of: connection, in: key, isPresent)
    }

    /// Tells a member that a connection enters or leaves, with the name by which the member knows the room.
    mutating func tell(_ member: Connection, of connection: Connection, in key: RoomKey, _ isPresent: Bool) {
        guard let room = member.rooms[key] else { return }
        turn.out.append(
            .send(
                member.id,
                ServerFrame.peer(room: room, user: connection.user, device: connection.device.id, isPresent: isPresent)
            )
        )
    }

    private func roomKey(_ name: String, for principal: Principal) throws(WireError) -> RoomKey {
        switch Result(catching: { () throws(Room.Refusal) in try Room(name, for: principal.user) }) {
        case .success(.pair(principal.user)): throw .invalid(.room, "must name two different users")
        case .success(.pair(let peer)): return .pair(Pair(principal.user, peer))
        case .success(.group(let group)):
            guard principal.rooms.contains(group) else {
                throw WireError(.forbidden, "room: not in the token's rooms", field: Field.room.name)
            }
            return .group(group)
        case .failure(.malformed): throw .invalid(.room, "must be p2p:<caller>-<callee> or room:<name>")
        case .failure(.foreign): throw WireError(.forbidden, "room: you are not a member", field: Field.room.name)
        }
    }
}
