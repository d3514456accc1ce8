public import CallCore
import JSON

/// The members of a schedule as a client writes them (protocol, section 5.11).
///
/// A member of an optional optional is absent, null, or has a value: `nil`, `.some(nil)`, `.some(value)`. Null removes
/// a member that the schedule had.
public struct ScheduleForm: Equatable, Sendable {
    /// The schedule's id; only a schedule that is made may name it.
    public var id: ScheduleID?
    /// The time of day, such as `06:30`.
    public var at: String?
    /// The name of the time zone, such as `Asia/Seoul`.
    public var timeZone: String?
    /// The weekdays, `mon` to `sun`, each once.
    public var days: [String]?
    /// The only date, such as `2026-12-01`.
    public var on: String?
    /// The caller's user id.
    public var from: UserID?
    /// The caller's displayed name; given with ``from``.
    public var displayName: String?
    /// The caller's address for CallKit.
    public var handle: String??
    /// The kind of ``handle``.
    public var handleType: String??
    /// Data of the app's own, a JSON value.
    public var data: String??
    /// How long each call rings.
    public var ring: Moment.Duration?
    /// How the user is rung until they confirm.
    public var confirm: Confirm??

    /// How a user is rung until they confirm.
    public struct Confirm: Equatable, Sendable {
        /// The time from the end of a ring to the next ring, in seconds.
        public var every: Int64
        /// The number of rings, the first one included.
        public var times: Int
    }

    /// The largest size of ``data``, in bytes, so that it fits a push.
    public static let dataBytes = 1_024
    /// The range of times from ring to ring, in seconds.
    public static let everySeconds: ClosedRange<Int64> = 10...3_600
    /// The range of numbers of rings.
    public static let times: ClosedRange<Int64> = 1...20

    /// Creates a form without members.
    public init() {}

    /// Reads the body of a request.
    ///
    /// - Parameters:
    ///   - body: The body.
    ///   - idempotencyKey: The request's `Idempotency-Key`, which counts as the body's `id`.
    /// - Throws: `WireError` that names the member. An unknown member is ignored, as in all bodies.
    public init(body: [UInt8], idempotencyKey: String? = nil) throws(WireError) {
        let object = try JSONObject.ofBody(body)
        if let text = try object.text(named: "id", upTo: 64) {
            guard let id = ScheduleID(text) else {
                throw .invalid(named: "id", "must be 1 to 64 characters of \(CallCore.Limits.identifierCharacters)")
            }
            self.id = id
        }
        id = try IdempotencyKey.id(id, orOf: idempotencyKey) { ScheduleID($0) }
        at = try object.text(named: "at", upTo: 16)
        timeZone = try object.text(named: "timeZone", upTo: 64)
        days = try object.words(named: "days")
        on = try object.text(named: "on", upTo: 16)
        if days != nil, on != nil { throw .invalid(named: "on", "give either on or days") }
        try readFrom(object)
        handle = try object.removable("handle") { object throws(WireError) in
            try object.text(named: "handle", upTo: WireLimits.handleBytes)?.shown()
        }
        handleType = try object.removable("handleType") { object throws(WireError) in
            let text = try object.text(named: "handleType", upTo: 16)
            guard let text, IncomingCallPayload.HandleType(rawValue: text) != nil else {
                throw .invalid(named: "handleType", "must be generic, phoneNumber or emailAddress")
            }
            return text
        }
        data = try object.removable("data") { object throws(WireError) in try object.dataText() }
        ring = try object.number(named: "ring", in: WireLimits.ringSeconds).map { .seconds($0) }
        confirm = try object.removable("confirm") { object throws(WireError) in try object.confirm() }
    }

    private mutating func readFrom(_ object: JSONObject) throws(WireError) {
        guard let member = try object.unique("from") else { return }
        guard member.kind == .object else { throw .invalid(named: "from", "must be an object") }
        let inner = try JSONObject.ofBody(object.bytes, in: member.value)
        from = try inner.within("from") { object throws(WireError) in
            guard let id = try object.user(.id) else { throw .invalid(.id, "missing") }
            return id
        }
        let name = try inner.within("from") { object throws(WireError) in try object.text(.displayName) }
        displayName = name?.shown(upTo: WireLimits.displayNameCharacters)
    }
}

extension JSONObject {
    /// Returns a member's text; `nil` if it is absent or null.
    fileprivate func text(named name: String, upTo limit: Int) throws(WireError) -> String? {
        guard let member = try unique(name) else { return nil }
        guard let text = string(member), (1...limit).contains(text.utf8.count) else {
            throw .invalid(named: name, "must be a string of 1 to \(limit) bytes")
        }
        return text
    }

    /// Returns a whole number; `nil` if it is absent or null.
    fileprivate func number(named name: String, in range: ClosedRange<Int64>) throws(WireError) -> Int64? {
        guard let member = try unique(name) else { return nil }
        guard let number = integer(member), range.contains(number) else {
            throw .invalid(named: name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns an array of short strings; `nil` if it is absent or null.
    fileprivate func words(named name: String) throws(WireError) -> [String]? {
        guard let member = try unique(name) else { return nil }
        // The parser's error is of no use: the body as a whole was parsed already.
        guard member.kind == .array, let array = try? JSONArray(bytes, in: member.value) else {
            throw .invalid(named: name, "must be an array")
        }
        var words: [String] = []
        // Of eight days two are the same, which is refused: the rest need not be read.
        for element in array.elements.prefix(8) {
            guard let word = array.string(element) else { throw .invalid(named: name, "must contain strings") }
            words.append(word)
        }
        return words
    }

    /// Returns a member that null removes: `nil` if it is absent.
    fileprivate func removable<Value>(
        _ name: String,
        _ read: (JSONObject) throws(WireError) -> Value?
    ) throws(WireError) -> Value?? {
        if let found = members.first(where: { self.name(of: $0) == name }), case .null = found.kind {
            return .some(nil)
        }
        return try unique(name) == nil ? nil : .some(try read(self))
    }

    fileprivate func dataText() throws(WireError) -> String? {
        guard let member = try unique("data") else { return nil }
        guard member.value.count <= ScheduleForm.dataBytes else {
            throw WireError(.tooLarge, "data: at most \(ScheduleForm.dataBytes) bytes", field: "data")
        }
        let text = Array(bytes[member.value])
        // An app that cannot read the push does not ring. JavaScript writes half a pair where it cuts a text in an emoji.
        guard let value = try? JSONValue(text), value.hasOnlyFiniteNumbers else {
            throw .invalid(
                named: "data",
                "must be JSON that every parser reads: no half of a surrogate pair, no name twice, no number too large for a double"
            )
        }
        return String(decoding: text, as: UTF8.self)
    }

    fileprivate func confirm() throws(WireError) -> ScheduleForm.Confirm? {
        guard let member = try unique("confirm") else { return nil }
        guard member.kind == .object else { throw .invalid(named: "confirm", "must be an object") }
        let inner = try JSONObject.ofBody(bytes, in: member.value)
        guard
            let every = try inner.within(
                "confirm",
                { object throws(WireError) in
                    try object.number(named: "every", in: ScheduleForm.everySeconds)
                }
            )
        else { throw .invalid(named: "confirm.every", "missing") }
        guard
            let times = try inner.within(
                "confirm",
                { object throws(WireError) in
                    try object.number(named: "times", in: ScheduleForm.times)
                }
            )
        else { throw .invalid(named: "confirm.times", "missing") }
        return ScheduleForm.Confirm(every: every, times: Int(times))
    }

    /// Names a member of an inner object by its way from the outer one in the error.
    fileprivate func within<Value>(
        _ outer: String,
        _ read: (JSONObject) throws(WireError) -> Value
    ) throws(WireError) -> Value {
        do throws(WireError) { return try read(self) } catch {
            guard let field = error.field else { throw error }
            throw WireError(error.code, "\(outer).\(error.message)", field: "\(outer).\(field)")
        }
    }
}
