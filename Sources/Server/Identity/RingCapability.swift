package import CallCore
import Crypto

/// A capability, the `act` of a push: with it, a device that was just woken can handle one call although the device's
/// JWT may have expired (protocol, section 6.5).
///
/// A capability consists of its fields and an HMAC-SHA256 over them; the server does not store capabilities.
package struct RingCapability: Sendable {
    /// The call, the device and the time that a capability is for.
    package struct Fields: Sendable, Equatable {
        /// The callId; it identifies a call only together with ``user`` and ``peer``.
        package var callId: CallID
        /// The call's epoch.
        package var epoch: UInt32
        /// The user who was rung, and for whom the holder of the capability acts.
        package var user: UserID
        /// The other user of the call; needed because several pairs of users may have calls with the same callId.
        package var peer: UserID
        /// The device that was rung.
        package var device: DeviceID
        /// The last moment at which the capability is valid, in milliseconds since 1970.
        package var validUntilMs: Int64

        /// Creates the fields of a capability.
        package init(
            callId: CallID,
            epoch: UInt32,
            user: UserID,
            peer: UserID,
            device: DeviceID,
            validUntilMs: Int64
        ) {
            self.callId = callId
            self.epoch = epoch
            self.user = user
            self.peer = peer
            self.device = device
            self.validUntilMs = validUntilMs
        }
    }

    private let key: [UInt8]

    /// The version of the layout; a capability of another version is refused instead of being misread.
    private static let version: UInt8 = 1
    /// The length of the HMAC in bytes: half the length of SHA-256, because a push has few bytes to spare.
    ///
    /// RFC 2104 (section 5) allows such a truncation.
    private static let codeByteCount = 16
    /// The longest possible capability: version, four texts of 255 bytes, two numbers and the code, in base64url.
    private static let maximumTextByteCount = (1 + 4 * 256 + 16 + codeByteCount) * 4 / 3 + 2

    /// Creates an issuer and verifier whose HMAC key is derived from a key of the server.
    ///
    /// - Parameter serverKey: the secret of a key of ``ServerKeys``.
    package init(serverKey: [UInt8]) {
        key = HMACSHA256.code(of: Array("ringline ring capability".utf8), key: serverKey)
    }

    /// Returns the text of a capability: base64url, about 110 characters for short ids.
    package func issue(_ fields: Fields) -> String {
        var bytes = [Self.version]
        for text in [fields.callId.text, fields.user.text, fields.peer.text, fields.device.text] {
            // Each text is preceded by its length, so that the end of one text cannot pass for the beginning of the
            // next. An id has at most 128 bytes, so its length fits in one byte.
            bytes.append(UInt8(text.utf8.count))
            bytes += text.utf8
        }
        for number in [Int64(fields.epoch), fields.validUntilMs] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: number >> Int64(shift)))
            }
        }
        return Base64URL.encode(bytes + code(of: bytes))
    }

    /// Reads a capability and checks it.
    ///
    /// - Parameters:
    ///   - text: the text after `Ring ` in the header; it may be any text.
    ///   - nowMs: milliseconds since 1970.
    /// - Returns: the fields; nil if this server did not issue the capability, or it has expired.
    package func verify(_ text: String, nowMs: Int64) -> Fields? {
        guard text.utf8.count <= Self.maximumTextByteCount, let bytes = Base64URL.decode(text),
            bytes.count > Self.codeByteCount
        else { return nil }
        let body = Array(bytes.dropLast(Self.codeByteCount))
        guard ConstantTime.equal(code(of: body), Array(bytes.suffix(Self.codeByteCount))) else { return nil }
        guard let fields = Self.fields(body), nowMs <= fields.validUntilMs else { return nil }
        return fields
    }

    private func code(of body: [UInt8]) -> [UInt8] {
        Array(HMACSHA256.code(of: body, key: key).prefix(Self.codeByteCount))
    }

    private static func fields(_ body: [UInt8]) -> Fields? {
        var rest = body[...]
        guard rest.popFirst() == version else { return nil }
        var texts: [String] = []
        for _ in 0..<4 {
            guard let count = rest.popFirst(), rest.count >= Int(count) else { return nil }
            texts.append(String(decoding: rest.prefix(Int(count)), as: UTF8.self))
            rest = rest.dropFirst(Int(count))
        }
        guard rest.count == 16 else { return nil }
        let numbers = [rest.prefix(8), rest.suffix(8)].map { $0.reduce(Int64(0)) { $0 << 8 | Int64($1) } }
        guard let epoch = UInt32(exactly: numbers[0]), let call = CallID(texts[0]), let user = UserID(texts[1]),
            let peer = UserID(texts[2]), let device = DeviceID(texts[3])
        else { return nil }
        return Fields(
            callId: call,
            epoch: epoch,
            user: user,
            peer: peer,
            device: device,
            validUntilMs: numbers[1]
        )
    }
}
