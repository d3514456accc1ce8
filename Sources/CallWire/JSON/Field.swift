/// The member names to which the protocol gives a meaning.
///
/// All others belong to the app and are relayed unchanged.
public enum Field: UInt8, CaseIterable, Sendable {
    // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
    case type, id, callId, room, to, epoch, sdp, hasVideo, displayName, ringTimeout, candidate, reason, hold,
        audioMuted,
        videoMuted, digits, data, token, calls, from, fromDevice, seq, ts, callUUID, ringUntil, waiting, deviceId,
        action, signalType, user_id, userId, blocked_user_id, voipDeviceToken, apnsDeviceToken, fcm_token, bundleId,
        platform, environment, until, callee_id, call_type, begin, body

    /// The name in JSON.
    public var name: String { "\(self)" }

    /// Creates the field whose name is a part of a JSON text.
    ///
    /// Escapes in the name are decoded before the comparison.
    init?(_ text: Span<UInt8>, _ part: Range<Int>, isPlain: Bool) {
        guard isPlain else {
            var name: [UInt8] = []
            for place in part { name.append(text[place]) }
            guard let decoded = JSONText.decoded(name[...]), let field = Self(decoded.span, 0..<decoded.count) else {
                return nil
            }
            self = field
            return
        }
        guard let field = Self(text, part) else { return nil }
        self = field
    }

    private init?(_ text: Span<UInt8>, _ part: Range<Int>) {
        guard let name = PackedName(text, part) else { return nil }
        let known = Self.byName
        // A binary search in the order of the packed names: few steps for every name, known or unknown.
        var low = 0
        var high = known.count
        while low < high {
            let middle = (low + high) / 2
            if known[middle].name < name { low = middle + 1 } else { high = middle }
        }
        guard low < known.count, known[low].name == name else { return nil }
        self = known[low].field
    }

    private static let byName: [(name: PackedName, field: Field)] = allCases.compactMap { field in
        let text = Array(field.name.utf8)
        return PackedName(text.span, 0..<text.count).map { ($0, field) }
    }.sorted { $0.name < $1.name }
}

/// A name of at most 16 bytes, stored as two numbers because these are compared faster than text.
private struct PackedName: Comparable {
    private var first: UInt64 = 0
    private var second: UInt64 = 0

    init?(_ text: Span<UInt8>, _ part: Range<Int>) {
        // A name with a leading zero byte would equal the name without that byte.
        guard part.count <= 16, !part.isEmpty, text[part.lowerBound] != 0 else { return nil }
        for place in part {
            second = second << 8 | first >> 56
            first = first << 8 | UInt64(text[place])
        }
    }

    static func < (a: Self, b: Self) -> Bool { a.first != b.first ? a.first < b.first : a.second < b.second }
}

/// A set of fields.
public struct FieldSet: ExpressibleByArrayLiteral, Sendable {
    private var bits: UInt64 = 0

    /// Creates a set of these fields.
    public init(arrayLiteral fields: Field...) { for field in fields { insert(field) } }

    /// Returns whether the set contains a field.
    @inline(__always)
    public func contains(_ field: Field) -> Bool { bits >> UInt64(field.rawValue) & 1 == 1 }

    /// Adds a field to the set.
    @inline(__always)
    public mutating func insert(_ field: Field) { bits |= 1 << UInt64(field.rawValue) }

    /// Adds all fields of another set.
    public mutating func formUnion(_ others: FieldSet) { bits |= others.bits }

    /// Returns the union of both sets.
    public func union(_ others: FieldSet) -> FieldSet {
        var all = self
        all.formUnion(others)
        return all
    }
}
