import Glibc

/// The URL of a STUN or TURN server (RFC 7064, RFC 7065): `turn:host:port?transport=udp`.
///
/// If a browser cannot parse one URL of a list, it refuses the whole list, and no call connects. So URLs are checked
/// before the server starts.
struct ICEServerURL: Equatable {
    /// The URL as it was written.
    let text: String
    /// Whether this is a TURN server, which relays media; a STUN server only reports a client's own address.
    let isRelay: Bool

    init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        switch text[..<colon] {
        case "turn", "turns": isRelay = true
        case "stun", "stuns": isRelay = false
        default: return nil
        }
        self.text = text
        let rest = text[text.index(after: colon)...]
        let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, !isRelay || !["transport=udp", "transport=tcp"].contains(parts[1]) { return nil }
        guard Self.isHostAndPort(parts[0]) else { return nil }
    }

    private static func isHostAndPort(_ text: Substring) -> Bool {
        var host = text
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return false }
            guard isIPv6Address(String(text[text.index(after: text.startIndex)..<end])) else { return false }
            let after = text[text.index(after: end)...]
            return after.isEmpty || after.hasPrefix(":") && isPort(after.dropFirst())
        }
        if let colon = text.firstIndex(of: ":") {
            guard isPort(text[text.index(after: colon)...]) else { return false }
            host = text[..<colon]
        }
        return !host.isEmpty
            && host.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "." || $0 == "_") }
    }

    private static func isIPv6Address(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.allSatisfy(\.isNumber) && Int(text).map { (1...65_535).contains($0) } ?? false
    }
}
