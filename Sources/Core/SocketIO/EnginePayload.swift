import CallWire
import JSON

/// The encoding of several packets in one polling request or response.
///
/// Version 4 writes U+001E between packets. Version 3 writes each packet's length in front of it: `5:42["a"]`. The
/// original implementation counts UTF-16 units, and some others count code points. Implementations in Python send a
/// zero byte and then the length in bytes. All three forms are read. A packet that this server writes has the same
/// length in the first two forms, because characters that take two UTF-16 units are escaped.
package enum EnginePayload {
    private static let separator: UInt8 = 0x1E

    /// Joins packets into one payload.
    package static func encoded(_ packets: [[UInt8]], _ version: EngineVersion) -> [UInt8] {
        switch version {
        case .v4: return Array(packets.joined(separator: [separator]))
        case .v3:
            var bytes: [UInt8] = []
            for packet in packets {
                let text = packet.contains { $0 >= 0xF0 } ? withSurrogates(packet) : packet
                bytes.append(contentsOf: String(text.count { $0 & 0xC0 != 0x80 }).utf8)
                bytes.append(UInt8(ascii: ":"))
                bytes.append(contentsOf: text)
            }
            return bytes
        }
    }

    /// Splits a request's body into its packets.
    package static func packets(in body: [UInt8], _ version: EngineVersion) throws(EngineFault) -> [EnginePacket] {
        let parts: [ArraySlice<UInt8>]
        switch version {
        case .v4:
            guard JSONText.isUTF8(body) else { throw .syntax }
            parts = body.split(separator: separator, omittingEmptySubsequences: false)
        case .v3:
            guard let first = body.first else { throw .syntax }
            if first <= 1 {
                parts = try binaryParts(of: body)
            } else {
                guard JSONText.isUTF8(body) else { throw .syntax }
                guard let found = textParts(of: body, unitsOfAstral: 2) ?? textParts(of: body, unitsOfAstral: 1) else {
                    throw .syntax
                }
                parts = found
            }
        }
        guard parts.count <= SocketIOLimits.packetsPerPost else { throw .syntax }
        var packets: [EnginePacket] = []
        for part in parts { packets.append(try EnginePacket(text: part)) }
        return packets
    }

    /// Splits version 3's text form.
    ///
    /// Returns `nil` when the lengths do not fit the body.
    private static func textParts(of body: [UInt8], unitsOfAstral: Int) -> [ArraySlice<UInt8>]? {
        var parts: [ArraySlice<UInt8>] = []
        var position = 0
        while position < body.count {
            guard let colon = body[position...].prefix(8).firstIndex(of: UInt8(ascii: ":")),
                var units = number(body[position..<colon])
            else { return nil }
            let start = colon + 1
            position = start
            while units > 0 {
                guard position < body.count else { return nil }
                let lead = body[position]
                position += lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
                units -= lead < 0xF0 ? 1 : unitsOfAstral
            }
            guard units == 0, position <= body.count else { return nil }
            parts.append(body[start..<position])
        }
        return parts
    }

    /// Splits version 3's binary form; only the text packets in it are accepted.
    ///
    /// Each packet is: 0, its length in bytes as digits with the values 0–9, 255, the packet.
    private static func binaryParts(of body: [UInt8]) throws(EngineFault) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var position = 0
        while position < body.count {
            guard body[position] == 0 else { throw body[position] == 1 ? .binary : .syntax }
            guard let mark = body[position...].prefix(9).firstIndex(of: 0xFF),
                let length = number(body[(position + 1)..<mark].map { $0 <= 9 ? $0 + 0x30 : 0 }[...]),
                mark + 1 + length <= body.count
            else { throw .syntax }
            let part = body[(mark + 1)..<(mark + 1 + length)]
            guard JSONText.isUTF8(Array(part)) else { throw .syntax }
            parts.append(part)
            position = mark + 1 + length
        }
        return parts
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Returns the packet with characters outside the basic plane escaped as `\uD83D\uDE00`.
    ///
    /// The escape is valid, because such characters occur in JSON strings only.
    private static func withSurrogates(_ packet: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(packet.count + 64)
        for scalar in String(decoding: packet, as: UTF8.self).unicodeScalars {
            if scalar.value < 0x10000 {
                result.append(contentsOf: String(scalar).utf8)
            } else {
                for unit in String(scalar).utf16 { result.append(contentsOf: "\\u\(String(unit, radix: 16))".utf8) }
            }
        }
        return result
    }
}
