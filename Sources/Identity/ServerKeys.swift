import Crypto

/// The server's own keys, from which it derives those of what it issues and reads itself: capabilities to ring.
///
/// Kept in the data folder, so that what was issued before a restart is good after it. The newest signs; it is replaced when
/// it is a day old, and those before are kept as long as something may live that they signed.
public struct ServerKeys: Equatable, Sendable {
    /// The file's name in the data folder.
    public static let fileName = "server-key"
    /// The age at which the newest is replaced, in milliseconds.
    public static let periodMilliseconds: Int64 = 86_400_000
    /// How far ahead a key may have been made, by a clock that was wrong.
    private static let clockDoubt: Int64 = 3_600_000

    /// One key.
    public struct Key: Equatable, Sendable {
        /// Its text as it stands in the file: base64url of 32 random bytes.
        public let secret: [UInt8]
        /// When it was made, in milliseconds since 1970; 0: nobody knows.
        public let madeAt: Int64

        /// A key of both.
        public init(secret: [UInt8], madeAt: Int64) {
            self.secret = secret
            self.madeAt = madeAt
        }

        static func random(at now: Int64) -> Key {
            Key(secret: Array(Base64URL.encode(SecureRandom.bytes(32)).utf8), madeAt: now)
        }
    }

    /// The key that signs.
    public let newest: Key
    /// Those before, the newest first; each was replaced when the one before it in this order was made.
    public let former: [Key]

    /// A new random key, without any before it.
    public init(at now: Int64) { self.init(newest: .random(at: now), former: []) }

    private init(newest: Key, former: [Key]) {
        self.newest = newest
        self.former = former
    }

    /// Reads the text of the file: a key a line, the newest first, with the moment at which it was made.
    ///
    /// A text of another form is one key of unknown age, as earlier versions kept it.
    public init(text: [UInt8]) {
        let keys = text.split(separator: 0x0A).map(Self.key)
        guard let newest = keys.first, let newest, !keys.contains(nil) else {
            self.init(newest: Key(secret: text, madeAt: 0), former: [])
            return
        }
        self.init(newest: newest, former: keys.dropFirst().compactMap(\.self))
    }

    private static func key(_ line: ArraySlice<UInt8>) -> Key? {
        let words = line.split(separator: 0x20)
        guard words.count == 2, let madeAt = Int64(String(decoding: words[1], as: UTF8.self)), madeAt >= 0 else {
            return nil
        }
        return Key(secret: Array(words[0]), madeAt: madeAt)
    }

    /// The text of the file.
    var text: String {
        ([newest] + former).map { "\(String(decoding: $0.secret, as: UTF8.self)) \($0.madeAt)\n" }.joined()
    }

    /// Whether every key is one as they are made here: a file that somebody wrote over holds none.
    public var areSound: Bool {
        ([newest] + former).allSatisfy { (Base64URL.decode($0.secret.span)?.count ?? 0) >= 32 }
    }

    /// Whether the newest is to be replaced.
    public func isDue(at now: Int64) -> Bool {
        now - newest.madeAt >= Self.periodMilliseconds || newest.madeAt - now > Self.clockDoubt
    }

    /// With a new key that signs, and without those whose last capability is over.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - life: how long a capability may live, in milliseconds.
    /// - Returns: the keys from now on.
    public func rotated(at now: Int64, life: Int64) -> ServerKeys {
        var (kept, replacedAt) = ([newest], newest.madeAt)
        for key in former {
            // A moment that is still to come was told by a clock that was wrong.
            guard now - replacedAt <= life, replacedAt <= now else { break }
            kept.append(key)
            replacedAt = key.madeAt
        }
        return ServerKeys(newest: .random(at: now), former: kept)
    }

    // MARK: The file

    /// The keys of a data folder: read, or made at the first start.
    ///
    /// - Parameters:
    ///   - folder: the data folder, which must exist.
    ///   - now: milliseconds since 1970.
    /// - Returns: at least one key.
    /// - Throws: ``SecretFileError``.
    public static func loadOrCreate(inFolder folder: String, at now: Int64) throws(SecretFileError) -> ServerKeys {
        ServerKeys(text: try SecretFile.loadOrCreate("\(folder)/\(fileName)", ServerKeys(at: now).text))
    }

    /// Puts the keys into a data folder, in the place of those that are there, to outlive a power cut.
    ///
    /// - Throws: ``SecretFileError``; then those before are there.
    public func save(inFolder folder: String) throws(SecretFileError) {
        try SecretFile.replace("\(folder)/\(Self.fileName)", text)
    }
}

/// Signs capabilities under the newest of the server's keys, and reads those of the former ones as long as they may live.
public struct CapabilityRing: Sendable {
    private let newest: RingCapability
    /// With the moment up to which what it signed can be good at most.
    private let former: [(signer: RingCapability, until: Int64)]

    /// A ring of keys.
    ///
    /// - Parameters:
    ///   - keys: the server's.
    ///   - life: how long a capability may live, in milliseconds.
    public init(_ keys: ServerKeys, life: Int64) {
        newest = RingCapability(serverKey: keys.newest.secret)
        var replacedAt = keys.newest.madeAt
        former = keys.former.map { key in
            defer { replacedAt = key.madeAt }
            return (RingCapability(serverKey: key.secret), replacedAt.addingReportingOverflow(life).partialValue)
        }
    }

    /// The text of a capability: see ``RingCapability/issue(_:)``.
    public func issue(_ fields: RingCapability.Fields) -> String { newest.issue(fields) }

    /// Reads a capability and checks it: see ``RingCapability/verify(_:nowMs:)``.
    public func verify(_ text: String, nowMs: Int64) -> RingCapability.Fields? {
        if let fields = newest.verify(text, nowMs: nowMs) { return fields }
        for (signer, until) in former {
            // A stolen former key must not sign a capability that outlives it.
            if let fields = signer.verify(text, nowMs: nowMs), fields.validUntilMs <= until { return fields }
        }
        return nil
    }
}
