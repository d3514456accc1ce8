import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Switchboard

extension Operation {
    /// The path of the call directory's pages, whose responses may be compressed.
    static let directoryPath = "/api/me/directory"

    /// The call directory.
    static let directory = [
        Operation("GET", "/api/me/directory", bearer: .user, parameters: ["list", "since", "limit"]) {
            content throws(WireError) in
            .numbers(.read(try content.head.numberQuery()))
        },
        Operation("PUT", "/api/directory", bearer: .service, body: .plainText, read: update),
        Operation("PUT", "/api/users/{userId}/directory", bearer: .service, body: .plainText, read: update),
    ]

    @Sendable
    private static func update(_ content: Content) throws(WireError) -> Switchboard.Request {
        let user = try content.part(.user).map { text throws(WireError) in try UserID(inPath: text) }
        return .numbers(.update(user, try NumberUpdate(body: content.body)))
    }
}

extension RequestHead {
    fileprivate func numberQuery() throws(WireError) -> Switchboard.NumberQuery {
        let list: NumberList
        switch parameter("list") {
        case nil, "identities": list = .identities
        case "blocks": list = .blocks
        default: throw .invalid(named: "list", "must be identities or blocks")
        }
        var query = Switchboard.NumberQuery(list)
        if let text = parameter("since") {
            guard let cursor = NumberCursor(text), cursor.list == list else {
                throw .invalid(named: "since", "must be a cursor that this server gave for this list")
            }
            query.cursor = cursor
        }
        let most = Switchboard.NumberQuery.mostLines
        query.limit = Int(try number("limit", in: 1...Int64(most)) ?? Int64(most))
        query.knownTags = ifNoneMatch.map(EntityTags.init)?.tags ?? []
        return query
    }
}
