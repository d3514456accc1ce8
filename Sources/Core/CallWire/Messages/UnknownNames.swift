import JSON

extension JSONObject {
    /// The names of members that neither the protocol nor the kits know: an app's own, or misspelt ones.
    var unknownNames: [String] { hasUnnumberedMember ? unnumberedNames(excluding: Self.kitNames) : [] }

    /// Returns the names of the members that are no ``Field``, without those that are known elsewhere.
    ///
    /// It is not inlined, so that objects without such members cost nothing.
    @inline(never)
    private func unnumberedNames(excluding known: [String]) -> [String] {
        members.compactMap { member in
            guard member.number == nil, let name = name(of: member), !known.contains(name) else { return nil }
            return name
        }
    }

    /// Members that the server relays without reading, and that the kits or this page give a meaning.
    private static let kitNames = ["media", "round", "schedule"]
}
