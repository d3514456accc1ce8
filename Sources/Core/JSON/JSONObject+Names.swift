/// Access to members by name, for readers without ``MemberNames``.
///
/// A name is compared byte by byte as it is written in the text: a name with escapes is not found.
extension JSONObject {
    /// Returns the member whose name has these bytes, unless it is absent or null.
    @inlinable
    public func member(named name: some Collection<UInt8>) -> Member? {
        members.first { member in
            if case .null = member.kind { return false }
            return member.name.count == name.count && bytes[member.name].elementsEqual(name)
        }
    }

    /// Returns the member with this name, unless it is absent or null.
    public func member(named name: String) -> Member? { member(named: name.utf8) }

    /// Returns the decoded text of a member; `nil` if it is absent, not a string, or contains a lone surrogate.
    public func text(_ name: String) -> String? { member(named: name).flatMap { string($0) } }

    /// Returns a member that is a whole number as ``integer(_:)`` accepts it; `nil` for any other value.
    public func number(_ name: String) -> Int64? { member(named: name).flatMap { integer($0) } }

    /// Returns a member that is `true` or `false`; `nil` for any other value.
    public func flag(_ name: String) -> Bool? {
        switch member(named: name)?.kind {
        case .true?: true
        case .false?: false
        case .object?, .array?, .string?, .number?, .null?, nil: nil
        }
    }

    /// Returns a member's JSON text; `nil` if the member is absent or null.
    public func raw(_ name: String) -> String? {
        member(named: name).map { String(decoding: bytes[$0.value], as: UTF8.self) }
    }
}
