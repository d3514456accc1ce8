import Crypto

/// A STUN message (RFC 8489, section 5), reduced to what an allocation on a TURN server needs (RFC 8656).
struct STUNMessage: Equatable {
    /// The method and class of a message.
    struct Kind: RawRepresentable, Equatable {
        let rawValue: UInt16

        static let allocate = Kind(rawValue: 0x0003)
        static let allocated = Kind(rawValue: 0x0103)
        static let allocationRefused = Kind(rawValue: 0x0113)
        static let refresh = Kind(rawValue: 0x0004)
    }

    /// The type of an attribute.
    struct Name: RawRepresentable, Equatable {
        let rawValue: UInt16

        static let username = Name(rawValue: 0x0006)
        static let messageIntegrity = Name(rawValue: 0x0008)
        static let errorCode = Name(rawValue: 0x0009)
        static let lifetime = Name(rawValue: 0x000D)
        static let realm = Name(rawValue: 0x0014)
        static let nonce = Name(rawValue: 0x0015)
        static let requestedTransport = Name(rawValue: 0x0019)
    }

    /// One attribute, without its padding.
    struct Attribute: Equatable {
        let name: Name
        let value: [UInt8]
    }

    static let headerCount = 20
    private static let cookie: [UInt8] = [0x21, 0x12, 0xA4, 0x42]

    let kind: Kind
    /// The transaction id: 12 bytes that the response repeats.
    let transaction: [UInt8]
    var attributes: [Attribute]

    init(_ kind: Kind, transaction: [UInt8] = SecureRandom.bytes(12), _ attributes: [Attribute] = []) {
        self.kind = kind
        self.transaction = transaction
        self.attributes = attributes
    }

    /// Parses a message; returns `nil` if the bytes are not a STUN message.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.headerCount, bytes[0] & 0xC0 == 0, Array(bytes[4..<8]) == Self.cookie,
            Self.length(of: bytes) == bytes.count - Self.headerCount
        else { return nil }
        var attributes: [Attribute] = []
        var rest = bytes[Self.headerCount...]
        while !rest.isEmpty {
            guard rest.count >= 4 else { return nil }
            let name = Name(rawValue: Self.number(rest.prefix(2)))
            let count = Int(Self.number(rest.dropFirst(2).prefix(2)))
            guard rest.count >= 4 + count else { return nil }
            attributes.append(Attribute(name: name, value: Array(rest.dropFirst(4).prefix(count))))
            rest = rest.dropFirst(4 + (count + 3) / 4 * 4)
        }
        self.init(Kind(rawValue: Self.number(bytes.prefix(2))), transaction: Array(bytes[8..<20]), attributes)
    }

    /// Returns the number of bytes after the header, as the header states it; `nil` if the header is incomplete.
    static func length(of bytes: [UInt8]) -> Int? {
        bytes.count >= headerCount ? Int(number(bytes[2..<4])) : nil
    }

    /// Returns the encoded message, with MESSAGE-INTEGRITY at its end if a key is given (RFC 8489, section 14.5).
    func encoded(key: [UInt8]? = nil) -> [UInt8] {
        var body: [UInt8] = []
        for attribute in attributes { body += Self.encoded(attribute) }
        guard let key else { return header(count: body.count) + body }
        // The signed header must already contain the message's length including the MESSAGE-INTEGRITY attribute.
        let signed = header(count: body.count + 4 + HMACSHA1.byteCount) + body
        return signed + Self.encoded(Attribute(name: .messageIntegrity, value: HMACSHA1.code(of: signed, key: key)))
    }

    /// The value of the first attribute of that type.
    subscript(name: Name) -> [UInt8]? { attributes.first { $0.name == name }?.value }

    /// The code and the reason phrase of ERROR-CODE (RFC 8489, section 14.8).
    var error: (code: Int, reason: String)? {
        guard let value = self[.errorCode], value.count >= 4 else { return nil }
        return (Int(value[2] & 7) * 100 + Int(value[3]), String(decoding: value.dropFirst(4), as: UTF8.self))
    }

    private func header(count: Int) -> [UInt8] {
        Self.bytes(kind.rawValue) + Self.bytes(UInt16(count)) + Self.cookie + transaction
    }

    private static func encoded(_ attribute: Attribute) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: (4 - attribute.value.count % 4) % 4)
        return bytes(attribute.name.rawValue) + bytes(UInt16(attribute.value.count)) + attribute.value + padding
    }

    private static func bytes(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt16 { bytes.reduce(0) { $0 << 8 | UInt16($1) } }
}
