import JSON

/// The keys that an app wants in a call's push beside the standard ones (protocol, section 6.2).
///
/// Each key repeats a member of the payload: an app that reads `UUID` gets `"UUID"` with the value of `callUUID`. A key
/// with dots makes objects: `data.id` becomes `"data":{"id":…}`. In a Firebase message, which has no objects, the key
/// keeps its dots.
///
/// ```swift
/// var aliases = PayloadAliases()
/// try aliases.add("data.id", for: "callId")
/// ```
public struct PayloadAliases: Equatable, Sendable {
    /// The members of the payload that a key may repeat.
    public enum Member: String, CaseIterable, Sendable {
        case type, callId, epoch, fromUserId, fromDisplayName, toUserId, room, hasVideo, callUUID, handle, handleType
        case callerId, callerName, sentAt, ringUntil, act, scheduled
    }

    /// Says why a key was refused.
    public struct Fault: Error, Equatable {
        /// A sentence without its subject and full stop: `may have at most 64 bytes`.
        public let message: String
    }

    /// The value of a member.
    enum Value {
        case text(String)
        case number(Int64)
        case flag(Bool)
    }

    /// A key, or a part of keys with dots.
    private struct Branch: Equatable {
        let name: String
        /// The member that the key repeats; `nil` = an object.
        let member: Member?
        var branches: [Branch] = []
    }

    /// The largest number of keys.
    public static let maximumCount = 16
    /// The largest length of a key, in bytes.
    public static let keyBytes = 64

    private var branches: [Branch] = []
    /// The number of keys.
    public private(set) var count = 0
    /// Whether the app's notification service extension may change the alerts (`mutable-content`).
    public var isMutable = false

    /// Creates a set without keys.
    public init() {}

    /// Reads the member `payload` of a registration: an object of wanted keys, each with the name of a member.
    ///
    /// Returns `nil` if it is absent or null.
    init?(registered registration: JSONObject) throws(WireError) {
        guard let member = try registration.unique("payload") else { return nil }
        guard case .object = member.kind else {
            throw .invalid(named: "payload", "must be an object of keys and members")
        }
        let object: JSONObject
        do { object = try JSONObject(registration.bytes, names: .none, in: member.value) } catch { throw .json(error) }
        for pair in object.members {
            guard let key = object.name(of: pair) else { throw WireError(.invalidJSON, "not UTF-8") }
            do throws(Fault) { try add(key, for: object.string(pair) ?? "") } catch {
                throw .invalid(named: "payload", "a key \(error.message)")
            }
        }
    }

    /// Reads ``text``; a part that this version does not understand is left out.
    public init(text: String) {
        for pair in text.split(separator: " ") {
            if pair == Self.mutableContent {
                isMutable = true
                continue
            }
            let parts = pair.split(separator: "=")
            // A later version may have written other members.
            if parts.count == 2 { try? add(String(parts[0]), for: String(parts[1])) }
        }
    }

    /// The keys as one text, for a store: `KEY=MEMBER`, with blanks between them.
    public var text: String {
        (keys.map { "\($0.0)=\($0.1.rawValue)" } + (isMutable ? [Self.mutableContent] : [])).joined(separator: " ")
    }

    /// The mark of ``isMutable`` in ``text``.
    ///
    /// No key may begin with `aps`, and an older version leaves it out.
    private static let mutableContent = "aps.mutable-content=1"

    /// Adds the keys of other aliases, except those that do not fit beside the present ones.
    public func adding(_ others: PayloadAliases) -> PayloadAliases {
        var all = self
        // A key that both have keeps its present member.
        for (key, member) in others.keys { try? all.add(key, for: member.rawValue) }
        return all
    }

    /// Adds a key that repeats a member of the payload.
    ///
    /// - Throws: ``Fault`` if the key cannot be in the payload, or if no such member can be repeated.
    public mutating func add(_ key: String, for member: String) throws(Fault) {
        guard let member = Member(rawValue: member) else {
            throw Fault(message: "must name one of \(Member.allCases.map { $0.rawValue }.joined(separator: ", "))")
        }
        guard key.utf8.count <= Self.keyBytes else { throw Fault(message: "may have at most \(Self.keyBytes) bytes") }
        let parts = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isAllowed) }) else {
            throw Fault(message: "must consist of A–Z a–z 0–9 _ - and single dots between them")
        }
        guard parts[0] != "aps", parts[0] != "offer", Member(rawValue: parts[0]) == nil else {
            throw Fault(message: "must not begin with \(parts[0]), a member of every payload")
        }
        guard count < Self.maximumCount else {
            throw Fault(message: "is one too many: there may be \(Self.maximumCount)")
        }
        try Self.add(parts[...], member, to: &branches)
        count += 1
    }

    private static func add(_ parts: ArraySlice<String>, _ member: Member, to branches: inout [Branch]) throws(Fault) {
        guard let name = parts.first else { return }
        let isLast = parts.count == 1
        let place = branches.firstIndex { $0.name == name }
        guard let place else {
            var branch = Branch(name: name, member: isLast ? member : nil)
            if !isLast { try add(parts.dropFirst(), member, to: &branch.branches) }
            branches.append(branch)
            return
        }
        guard !isLast, branches[place].member == nil else {
            throw Fault(message: "repeats another key, or begins with one")
        }
        try add(parts.dropFirst(), member, to: &branches[place].branches)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Whether a key is, or begins with, the member `data` of a payload in this form.
    ///
    /// In a Firebase message, which has no objects, `data.id` is another name than `data`.
    func takeData(in form: PushForm) -> Bool {
        branches.contains { $0.name == "data" && ($0.member != nil || form != .data) }
    }

    /// Returns how many keys repeat one of these members.
    func count(of members: [Member]) -> Int { Self.count(of: members, in: branches) }

    private static func count(of members: [Member], in branches: [Branch]) -> Int {
        branches.reduce(0) { sum, branch in
            sum + (branch.member.map { members.contains($0) ? 1 : 0 } ?? count(of: members, in: branch.branches))
        }
    }

    /// The keys, with their dots, and the members that they repeat.
    var keys: [(String, Member)] { Self.keys(of: branches, under: "") }

    private static func keys(of branches: [Branch], under path: String) -> [(String, Member)] {
        branches.flatMap { branch in
            branch.member.map { [(path + branch.name, $0)] }
                ?? keys(of: branch.branches, under: "\(path)\(branch.name).")
        }
    }

    /// Writes the keys into the object that is open; `value` returns `nil` for a member that the payload does not have.
    func write(into json: inout JSONWriter, value: (Member) -> Value?) {
        for branch in branches { Self.write(branch, into: &json, value) }
    }

    private static func write(_ branch: Branch, into json: inout JSONWriter, _ value: (Member) -> Value?) {
        guard let member = branch.member else {
            json.name(branch.name)
            json.beginObject()
            for inner in branch.branches { write(inner, into: &json, value) }
            json.endObject()
            return
        }
        guard let found = value(member) else { return }
        json.name(branch.name)
        switch found {
        case .text(let text): json.value(text)
        case .number(let number): json.value(number)
        case .flag(let flag): json.value(flag)
        }
    }
}
