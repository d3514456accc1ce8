import Crypto

/// The server's own keys, from which it derives the keys that sign and verify capabilities to ring.
///
/// The keys are kept in the data folder, so that capabilities issued before a restart stay valid. The newest key signs,
/// and is replaced when it is a day old. The former keys are kept as long as a capability that they signed may be
/// valid.
package struct ServerKeys: Equatable, Sendable {
    /// The name of the file in the data folder.
    package static let fileName = "server-key"
    /// The age at which the newest key is replaced, in milliseconds.
    package static let periodMilliseconds: Int64 = 86_400_000
    /// How far in the future a key's time of creation may be, in milliseconds, without the key being replaced.
    ///
    /// A larger lead means that a clock was wrong, and the key is replaced.
    private static let largestClockLead: Int64 = 3_600_000

    /// One key of the server.
    package struct Key: Equatable, Sendable {
        /// The key's text as it is in the file: base64url of 32 random bytes.
        package let secret: [UInt8]
        /// When the key was made, in milliseconds since 1970; 0 = unknown.
        package let madeAt: Int64

        /// Creates a key from its parts.
        package init(secret: [UInt8], madeAt: Int64) {
            self.secret = secret
            self.madeAt = madeAt
        }

        static func random(at now: Int64) -> Key {
            Key(secret: Array(Base64URL.encode(SecureRandom.bytes(32)).utf8), madeAt: now)
        }
    }

    /// The key that signs.
    package let newest: Key
    /// The former keys, the newest first.
    ///
    /// Each of them was replaced when the next newer key was made.
    package let former: [Key]

    /// The key that will sign next; `nil` = it is not known yet.
    package let next: Key?

    /// Creates a new random key without former keys.
    package init(at now: Int64) { self.init(newest: .random(at: now), former: []) }

    /// Derives the keys of a moment from the secret that several nodes share: one key for each day, in UTC.
    ///
    /// So every node accepts what another one has signed, and no node has to store or announce a key. Midnight comes a
    /// little earlier or later at each node, so the keys of the day before and of the day after are accepted too.
    package init(derivedFrom secret: [UInt8], at now: Int64) {
        let day = max(1, now / Self.periodMilliseconds)
        let keys = [day, day - 1, day + 1].map { day in
            let code = HMACSHA256.code(of: Array("ringline capabilities \(day)".utf8), key: secret)
            return Key(secret: Array(Base64URL.encode(code).utf8), madeAt: day * Self.periodMilliseconds)
        }
        self.init(newest: keys[0], former: [keys[1]], next: keys[2])
    }

    private init(newest: Key, former: [Key], next: Key? = nil) {
        self.newest = newest
        self.former = former
        self.next = next
    }

    /// Reads the text of the file: one key with its creation time on each line, the newest first.
    ///
    /// A text of any other form is taken as one key of unknown age: earlier versions stored only the key.
    package init(text: [UInt8]) {
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

    /// Whether every key is base64 of at least 32 bytes.
    ///
    /// A file that something else has overwritten contains no such keys.
    ///
    /// Both alphabets of base64 are accepted: the server writes base64url, and an operator may have made a key with
    /// `openssl rand -base64 32`.
    package var areValid: Bool {
        ([newest] + former).allSatisfy { key in
            let bytes = Base64URL.decode(key.secret.span) ?? Base64.decode(String(decoding: key.secret, as: UTF8.self))
            return (bytes?.count ?? 0) >= 32
        }
    }

    /// Returns whether the newest key must be replaced.
    package func isDue(at now: Int64) -> Bool {
        now - newest.madeAt >= Self.periodMilliseconds || newest.madeAt - now > Self.largestClockLead
    }

    /// Returns the keys with a new key that signs, and without the former keys whose capabilities have all expired.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - life: how long a capability may be valid, in milliseconds.
    /// - Returns: the keys from now on.
    package func rotated(at now: Int64, life: Int64) -> ServerKeys {
        var (kept, replacedAt) = ([newest], newest.madeAt)
        for key in former {
            // If the key was replaced in the future, a clock was wrong then.
            guard now - replacedAt <= life, replacedAt <= now else { break }
            kept.append(key)
            replacedAt = key.madeAt
        }
        return ServerKeys(newest: .random(at: now), former: kept)
    }

    // MARK: The file

    /// Reads the keys of a data folder, or makes them at the first start.
    ///
    /// - Parameters:
    ///   - folder: the data folder, which must exist.
    ///   - now: milliseconds since 1970.
    /// - Returns: at least one key.
    /// - Throws: ``SecretFileError``.
    package static func loadOrCreate(inFolder folder: String, at now: Int64) throws(SecretFileError) -> ServerKeys {
        ServerKeys(text: try SecretFile.loadOrCreate("\(folder)/\(fileName)", ServerKeys(at: now).text))
    }

    /// Replaces the keys in a data folder; the new keys survive a power cut.
    ///
    /// - Throws: ``SecretFileError``; the earlier keys are then still there.
    package func save(inFolder folder: String) throws(SecretFileError) {
        try SecretFile.replace("\(folder)/\(Self.fileName)", text)
    }
}

/// An issuer and verifier of capabilities.
///
/// It signs with the newest of the server's keys. It also accepts capabilities that a former key signed before it was
/// replaced, as long as they are valid, and those that the next key has signed at a node whose clock is ahead.
package struct CapabilitySigner: Sendable {
    private let newest: RingCapability
    private let next: RingCapability?
    /// The former keys, each with the last moment at which a capability that it signed can be valid.
    private let former: [(signer: RingCapability, until: Int64)]

    /// Creates an issuer and verifier for a set of keys.
    ///
    /// - Parameters:
    ///   - keys: the server's keys.
    ///   - life: how long a capability may be valid, in milliseconds.
    package init(_ keys: ServerKeys, life: Int64) {
        newest = RingCapability(serverKey: keys.newest.secret)
        next = keys.next.map { RingCapability(serverKey: $0.secret) }
        var replacedAt = keys.newest.madeAt
        former = keys.former.map { key in
            defer { replacedAt = key.madeAt }
            return (RingCapability(serverKey: key.secret), replacedAt.addingReportingOverflow(life).partialValue)
        }
    }

    /// Returns the text of a capability: see ``RingCapability/issue(_:)``.
    package func issue(_ fields: RingCapability.Fields) -> String { newest.issue(fields) }

    /// Reads a capability and checks it: see ``RingCapability/verify(_:nowMs:)``.
    package func verify(_ text: String, nowMs: Int64) -> RingCapability.Fields? {
        if let fields = newest.verify(text, nowMs: nowMs) ?? next?.verify(text, nowMs: nowMs) { return fields }
        for (signer, until) in former {
            // A stolen former key must not sign a capability that is valid for longer than any capability from the time
            // in which the key was in use.
            if let fields = signer.verify(text, nowMs: nowMs), fields.validUntilMs <= until { return fields }
        }
        return nil
    }
}
