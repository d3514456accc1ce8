import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Switchboard

extension Operation {
    /// The schedules of the user of the token, and of any user by a service.
    static let schedules =
        schedules("/api/schedules", bearer: .user) + schedules("/api/users/{userId}/schedules", bearer: .any)

    private static func schedules(_ path: PathTemplate, bearer: Bearer) -> [Operation] {
        let one = path + "{scheduleId}"
        return [
            asking("GET", path, bearer, parameters: []) { _ in .list },
            asking("POST", path, bearer, body: .json) { content throws(WireError) in
                .make(try ScheduleForm(body: content.body, idempotencyKey: content.head.idempotencyKey))
            },
            asking("GET", one, bearer) { content throws(WireError) in .one(try content.schedule()) },
            asking("PUT", one, bearer, body: .json) { content throws(WireError) in
                guard let id = ScheduleID(content[.schedule]) else {
                    throw .invalid(named: "id", "must be 1 to 64 characters of \(CallCore.Limits.identifierCharacters)")
                }
                return .put(id, try ScheduleForm(body: content.body))
            },
            asking("PATCH", one, bearer, body: .json) { content throws(WireError) in
                .change(try content.schedule(), try ScheduleForm(body: content.body))
            },
            asking("DELETE", one, bearer) { content throws(WireError) in .remove(try content.schedule()) },
            asking("POST", one + "confirm", bearer) { content throws(WireError) in .confirm(try content.schedule()) },
            asking("POST", one + "ring", bearer) { content throws(WireError) in
                let schedule = try content.schedule()
                return .ring(schedule, key: try IdempotencyKey.signalID(content.head.idempotencyKey))
            },
        ]
    }

    /// Returns an operation on the schedules of the user that the path names, or of the user of the token.
    private static func asking(
        _ method: String,
        _ path: PathTemplate,
        _ bearer: Bearer,
        body: Body = .none,
        parameters: [String]? = nil,
        read: @escaping @Sendable (Content) throws(WireError) -> Switchboard.ScheduleRequest
    ) -> Operation {
        Operation(method, path, bearer: bearer, body: body, parameters: parameters) { content throws(WireError) in
            var user: UserID?
            if let text = content.part(.user) {
                user = UserID(text)
                guard user != nil else { throw WireError(.notFound, "no such user") }
            }
            return .schedules(try read(content), of: user)
        }
    }
}

extension Operation.Content {
    /// Returns the schedule that the path names.
    fileprivate func schedule() throws(WireError) -> ScheduleID {
        guard let id = ScheduleID(self[.schedule]) else { throw WireError(.notFound, "no such schedule") }
        return id
    }
}
