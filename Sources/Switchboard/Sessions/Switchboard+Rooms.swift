import CallCore
import CallWire

/// Which room is meant, however it is written.
enum RoomKey: Hashable {
    case pair(Pair)
    case group(String)
}

/// Presence in rooms without a call.
extension Switchboard {
    /// Rooms that one session may be present in.
    private static let roomsPerSession = 64

    func enter(_ name: String, _ session: Session, id: SignalID?, at now: Moment) {
        let key: RoomKey
        do throws(WireError) { key = try roomKey(name, for: session.who) } catch {
            tell(error, id: id, to: session)
            return
        }
        var members = rooms[key] ?? []
        if !members.contains(where: { $0 === session }) {
            guard session.rooms.count < Self.roomsPerSession else {
                tell(WireError(.rateLimited, "room: at most \(Self.roomsPerSession) at a time"), id: id, to: session)
                return
            }
            for member in members {
                present(session, in: name, true, to: member)
                present(member, in: name, true, to: session)
            }
            members.append(session)
            rooms[key] = members
            session.rooms.insert(name)
        }
        if let id { out.append(.send(session.id, ServerFrame.ack(id: id))) }
    }

    func leave(_ name: String, _ session: Session, id: SignalID?, at now: Moment) {
        let key: RoomKey
        do throws(WireError) { key = try roomKey(name, for: session.who) } catch {
            tell(error, id: id, to: session)
            return
        }
        session.rooms.remove(name)
        remove(session, from: key, named: name)
        if let id { out.append(.send(session.id, ServerFrame.ack(id: id))) }
    }

    func leaveAllRooms(_ session: Session) {
        for name in session.rooms.sorted() {
            // It was let in under that name: the name means something to it.
            if let key = try? roomKey(name, for: session.who, isLeaving: true) {
                remove(session, from: key, named: name)
            }
        }
        session.rooms = []
    }

    private func remove(_ session: Session, from key: RoomKey, named name: String) {
        guard let members = rooms[key], members.contains(where: { $0 === session }) else { return }
        let rest = members.filter { $0 !== session }
        rooms[key] = rest.isEmpty ? nil : rest
        for member in rest { present(session, in: name, false, to: member) }
    }

    private func present(_ session: Session, in room: String, _ isPresent: Bool, to member: Session) {
        out.append(
            .send(
                member.id,
                ServerFrame.peer(room: room, user: session.user, device: session.phone.id, isPresent: isPresent)
            )
        )
    }

    private func roomKey(_ name: String, for who: Who, isLeaving: Bool = false) throws(WireError) -> RoomKey {
        switch Result(catching: { () throws(Room.Refusal) in try Room(name, for: who.user) }) {
        case .success(.pair(let peer)): return .pair(Pair(who.user, peer))
        case .success(.group(let group)):
            guard isLeaving || who.rooms.contains(group) else {
                throw WireError(.forbidden, "room: the token does not carry it", field: Field.room.name)
            }
            return .group(group)
        case .failure(.malformed): throw .invalid(.room, "must be p2p:<caller>-<callee> or room:<name>")
        case .failure(.foreign): throw WireError(.forbidden, "room: is none of this user's", field: Field.room.name)
        }
    }
}
