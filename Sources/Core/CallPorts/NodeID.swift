/// The id of one run of a node: 1–64 of the characters `A–Z a–z 0–9 . _ : -`.
///
/// A process makes a new id each time it starts. So a node that restarts does not take the record of its earlier run
/// for its own.
package struct NodeID: Hashable, Comparable, Sendable {
    /// The id as text.
    package let text: String

    /// The longest id, in bytes.
    package static let maximumBytes = 64

    /// Creates a node's id; `nil` if `text` does not have the form.
    package init?(_ text: String) {
        guard (1...Self.maximumBytes).contains(text.utf8.count), text.utf8.allSatisfy(Self.admits) else { return nil }
        self.text = text
    }

    /// Returns whether `a` comes before `b` in byte order.
    package static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }

    private static func admits(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}

/// The number of an ownership: each claim of the calls raises it.
///
/// The database compares it at each commit, so a commit of an earlier owner is refused. It has nothing to do with the
/// epoch of a call.
package struct OwnerEpoch: Hashable, Comparable, Sendable {
    /// The number, from 1; 0 = no node has ever owned the calls.
    package let rawValue: UInt64

    /// Creates the ownership with this number.
    @inlinable
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The number before the first ownership.
    package static let none = OwnerEpoch(rawValue: 0)

    /// Returns whether `a` is the earlier ownership.
    @inlinable
    package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
