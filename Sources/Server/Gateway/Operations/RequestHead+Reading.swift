import CallCore
import CallPorts
import CallWire
import LibWebSockets

/// The parts of a request that several operations read.
extension RequestHead {
    /// Refuses an unknown parameter of a list: it may be meant as a filter, and the list would be shown unfiltered.
    ///
    /// Every request may have the parameters `token` and `device`, and `_`, by which libraries keep caches away.
    func checkParameters(_ known: [String]) throws(WireError) {
        let everywhere = ["token", "device", "_"]
        guard let other = query.first(where: { !known.contains($0.name) && !everywhere.contains($0.name) })
        else { return }
        let has = known.isEmpty ? "the list has none" : "the list has \(known.joined(separator: ", "))"
        throw .unknownParameter(other.name, has)
    }

    /// Refuses a body with a content type other than JSON; a body without a content type is taken as JSON.
    func checkJSON() throws(WireError) {
        guard let type = contentType?.split(separator: ";").first?.lowercased() else { return }
        let name = type.filter { $0 != " " }
        guard name == "application/json" || name.hasSuffix("+json") else {
            throw WireError(.unsupportedMediaType, "Content-Type must be application/json")
        }
    }

    /// Refuses a body with a content type other than plain text; a body without a content type is taken as plain text.
    func checkPlainText() throws(WireError) {
        guard let type = contentType?.split(separator: ";").first?.lowercased() else { return }
        guard type.filter({ $0 != " " }) == "text/plain" else {
            throw WireError(.unsupportedMediaType, "Content-Type must be text/plain")
        }
    }

    func number(_ name: String, in range: ClosedRange<Int64>) throws(WireError) -> Int64? {
        guard let text = parameter(name) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            let upper = range.upperBound == Int64.max ? "" : " to \(range.upperBound)"
            throw WireError(
                .invalidField,
                "\(name): must be a whole number from \(range.lowerBound)\(upper)",
                field: name
            )
        }
        return number
    }

    /// Returns the peer that the query parameter `peer` names.
    func peer() throws(WireError) -> UserID? { try user("peer") }

    /// Returns the user that a query parameter names.
    func user(_ name: String) throws(WireError) -> UserID? {
        guard let text = parameter(name) else { return nil }
        guard let user = UserID(text) else {
            throw WireError(
                .invalidField,
                "\(name): must be a user id: \(CallCore.Limits.identifierForm)",
                field: name
            )
        }
        return user
    }

    func epoch() throws(WireError) -> UInt32? {
        try number("epoch", in: 1...Int64(UInt32.max)).map { UInt32($0) }
    }
}

extension CallID {
    /// Reads a callId in a path or a query.
    init(inRequest text: String) throws(WireError) {
        guard let id = CallID(text) else { throw .invalid(.callId, "must be \(CallCore.Limits.identifierForm)") }
        self = id
    }
}

extension UserID {
    /// Reads a user id in a path.
    init(inPath text: String) throws(WireError) {
        guard let user = UserID(text) else {
            throw .invalid(.userId, "must be a user id: \(CallCore.Limits.identifierForm)")
        }
        self = user
    }
}
