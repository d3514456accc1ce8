import CallCore
import CallWire
import LibWebSockets
import Switchboard

extension Route {
    /// The operations on schedules: of the user of the token, and of any user by a service.
    struct Schedules: Equatable {
        enum Operation: Equatable { case list, make, one, put, change, remove, confirm, ring }

        let operation: Operation
        /// The schedule's id, as the path has it.
        var id: String?
        /// The user, as the path has it; `nil` = the user of the token.
        var user: String?

        /// Returns the operations at a path, by method.
        static func routes(_ parts: [String]) -> [(method: String, route: Route)] {
            var user: String?
            guard parts.first == "api" else { return [] }
            var rest = parts.dropFirst()
            if rest.first == "users", rest.count >= 3 {
                user = rest.dropFirst().first.map(RequestHead.decoded)
                rest = rest.dropFirst(2)
            }
            guard rest.first == "schedules" else { return [] }
            let id = rest.dropFirst().first.map(RequestHead.decoded)
            let operations: [(String, Operation)] =
                switch (rest.count, rest.last) {
                case (1, _): [("GET", .list), ("POST", .make)]
                case (2, _): [("GET", .one), ("PUT", .put), ("PATCH", .change), ("DELETE", .remove)]
                case (3, "confirm"): [("POST", .confirm)]
                case (3, "ring"): [("POST", .ring)]
                default: []
                }
            return operations.map { ($0, .schedules(Schedules(operation: $1, id: id, user: user))) }
        }

        /// Whether a request has a body that must be JSON.
        var hasBody: Bool {
            switch operation {
            case .make, .put, .change: true
            case .list, .one, .remove, .confirm, .ring: false
            }
        }

        /// Returns the switchboard's request.
        func request(_ head: RequestHead, body: [UInt8]) throws(WireError) -> Switchboard.Request {
            if operation == .list { try head.checkParameters([]) }
            let named = try user.map { text throws(WireError) in
                guard let user = UserID(text) else { throw WireError(.notFound, "no such user") }
                return user
            }
            return .schedules(try asked(head, body), of: named)
        }

        private func asked(_ head: RequestHead, _ body: [UInt8]) throws(WireError) -> Switchboard.ScheduleRequest {
            guard let id else {
                guard operation == .make else { return .list }
                return .make(try ScheduleForm(body: body, idempotencyKey: head.idempotencyKey))
            }
            guard let schedule = ScheduleID(id) else {
                guard operation == .put else { throw WireError(.notFound, "no such schedule") }
                throw .invalid(named: "id", "must be 1 to 64 characters of \(CallCore.Limits.identifierCharacters)")
            }
            switch operation {
            case .list: return .list
            case .make: return .make(try ScheduleForm(body: body))
            case .one: return .one(schedule)
            case .put: return .put(schedule, try ScheduleForm(body: body))
            case .change: return .change(schedule, try ScheduleForm(body: body))
            case .remove: return .remove(schedule)
            case .confirm: return .confirm(schedule)
            case .ring: return .ring(schedule, key: try IdempotencyKey.signalID(head.idempotencyKey))
            }
        }
    }
}
