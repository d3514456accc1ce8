public import CallCore

/// The header `Idempotency-Key` of a request that appends or makes something: it counts as the `id` in the body.
///
/// Source: "The Idempotency-Key HTTP Header Field", IETF draft.
public enum IdempotencyKey {
    static let name = "Idempotency-Key"

    /// Returns the key of a request without a body; `nil` if it has none.
    ///
    /// - Throws: `WireError` if the header has not the form of an `id`.
    public static func signalID(_ header: String?) throws(WireError) -> SignalID? {
        try id(nil, orOf: header) { SignalID($0) }
    }

    /// Returns the `id` of a request, from its body or its header.
    ///
    /// - Throws: `WireError` if the header is no such id, or another one than the body's.
    static func id<ID: Equatable>(
        _ inBody: ID?,
        orOf header: String?,
        _ make: (String) -> ID?
    ) throws(WireError) -> ID? {
        guard let header else { return inBody }
        // By the draft, the value is a quoted string; most clients do not quote it.
        let isQuoted = header.utf8.count > 1 && header.hasPrefix("\"") && header.hasSuffix("\"")
        guard let id = make(isQuoted ? String(header.dropFirst().dropLast()) : header) else {
            throw .invalid(named: name, "must have the form of the body's id: 1 to 64 bytes")
        }
        guard inBody == nil || inBody == id else {
            throw .invalid(named: name, "must equal the body's id, or be absent")
        }
        return id
    }
}
