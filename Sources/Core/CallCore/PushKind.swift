/// The kind of a push: the service that carries it, and what it does on the device (protocol, section 6).
public enum PushKind: String, Sendable, CaseIterable {
    /// A VoIP push of APNs, to PushKit's token: it wakes the app, which reports the call to CallKit immediately. Priority 10.
    case voip
    /// An alert of APNs, to APNs' own token: it shows a notification. Priority 10.
    case alert
    /// A data message of Firebase, to its registration token: it wakes the app, which shows the call itself. Priority HIGH.
    case firebase
    /// A message of Web Push, to a browser's subscription: it wakes the page's service worker, which shows a notification.
    /// Urgency high.
    case web

    /// Whether APNs carries the push.
    public var isThroughAPNs: Bool { self == .voip || self == .alert }
}

/// At most one value for each kind of push, such as the push tokens of a device, in the order of the kinds.
///
/// It is an array, because most devices have one push token or two.
@frozen
public struct PushTable<Value> {
    /// A value and its kind.
    @frozen
    public struct Entry {
        /// The value.
        public var value: Value
        /// The kind of push.
        public let kind: PushKind

        @inlinable init(_ kind: PushKind, _ value: Value) {
            self.value = value
            self.kind = kind
        }
    }

    /// The values, in the order of the kinds: the same values are equal in whatever order they were set.
    public private(set) var entries: [Entry] = []

    /// Creates a table without values.
    @inlinable
    public init() {}

    /// Whether there is no value.
    @inlinable
    public var isEmpty: Bool { entries.isEmpty }

    /// Returns whether there is a value for a kind.
    @inlinable
    public func has(_ kind: PushKind) -> Bool { entries.contains { $0.kind == kind } }

    /// The value for a kind; `nil` = there is none.
    @inlinable
    public subscript(kind: PushKind) -> Value? {
        get { entries.first { $0.kind == kind }?.value }
        set { replace(kind, by: newValue) }
    }

    @usableFromInline
    mutating func replace(_ kind: PushKind, by value: Value?) {
        // A row of the database sets each kind, most of them to nothing.
        guard value != nil || has(kind) else { return }
        let old = entries
        entries = PushKind.allCases.compactMap { each in
            each == kind ? value.map { Entry(kind, $0) } : old.first { $0.kind == each }
        }
    }
}

extension PushTable.Entry: Equatable where Value: Equatable {}
extension PushTable.Entry: Sendable where Value: Sendable {}
extension PushTable: Equatable where Value: Equatable {}
extension PushTable: Sendable where Value: Sendable {}

extension PushTable: ExpressibleByDictionaryLiteral {
    /// Creates a table of these values.
    public init(dictionaryLiteral values: (PushKind, Value)...) {
        for (kind, value) in values { self[kind] = value }
    }
}
