import LibWebSockets

/// The host and the port of a `Host` header or of a URL (RFC 3986, section 3.2), in a form for comparing.
///
/// The host is in lower case and without the dot at its end, and an IPv6 address has its canonical form.
struct Authority: Hashable {
    /// The name, or the address; an IPv6 address is in brackets.
    let host: String
    /// The port; `nil` if none is given.
    let port: Int?

    /// Parses `host`, `host:port`, `[address]` or `[address]:port`; `nil` for anything else, a user name for instance.
    init?(_ text: some StringProtocol) {
        let text = Array(text.utf8)
        let colon = UInt8(ascii: ":")
        if text.first == UInt8(ascii: "[") {
            guard let end = text.firstIndex(of: UInt8(ascii: "]")),
                let address = NumericAddress.canonical(String(decoding: text[1..<end], as: UTF8.self), isIPv6: true)
            else { return nil }
            let rest = text[(end + 1)...]
            guard rest.isEmpty || rest.first == colon else { return nil }
            host = "[\(address)]"
            guard let port = Self.port(rest.dropFirst()) else { return nil }
            self.port = port == 0 ? nil : port
            return
        }
        let end = text.firstIndex(of: colon) ?? text.endIndex
        var name = text[..<end]
        if name.last == UInt8(ascii: "."), name.count > 1 { name = name.dropLast() }
        guard let first = name.first, first != UInt8(ascii: "."), name.allSatisfy(Self.isNameByte),
            let port = Self.port(text[end...].dropFirst())
        else {
            return nil
        }
        host = String(decoding: name, as: UTF8.self).lowercased()
        self.port = port == 0 ? nil : port
    }

    /// Returns the port in these digits, 0 if there are none; `nil` = they are no port.
    private static func port(_ digits: ArraySlice<UInt8>) -> Int? {
        guard !digits.isEmpty else { return 0 }
        guard digits.count <= 5, digits.allSatisfy({ (48...57).contains($0) }),
            let port = Int(String(decoding: digits, as: UTF8.self)), (1...65_535).contains(port)
        else { return nil }
        return port
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (97...122).contains(byte) || (65...90).contains(byte) || (48...57).contains(byte) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }
}
