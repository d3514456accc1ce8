/// The address where an issuer publishes the keys of its tokens.
struct PublishedKeys: Equatable {
    let url: String
    /// A PEM file of certificate authorities to trust instead of the system's.
    let caFile: String?

    /// Reads the settings; `nil` if they contain no address.
    init?(_ source: SettingsSource) throws(UsageError) {
        guard let url = try source[\.jwksURL] else { return nil }
        self.url = url
        caFile = try source[\.jwksCAFile]
    }

    /// Returns whether an address is protected from tampering: HTTPS, or HTTP to this machine only.
    ///
    /// An attacker who can change the key set in transit can log in as any user.
    static func isSafe(_ url: String) -> Bool {
        guard let colon = url.firstRange(of: "://"), url.utf8.count <= 2_000,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return false }
        let authority = url[colon.upperBound...].prefix { !"/?#".contains($0) }
        guard !authority.isEmpty, !authority.contains("@"), !url.contains("#") else { return false }
        switch url[..<colon.lowerBound] {
        case "https": return true
        case "http": return ["127.0.0.1", "localhost", "[::1]"].contains(host(of: authority))
        default: return false
        }
    }

    private static func host(of authority: Substring) -> Substring {
        guard authority.hasPrefix("["), let end = authority.firstIndex(of: "]") else {
            return authority.prefix { $0 != ":" }
        }
        let after = authority[authority.index(after: end)...]
        return after.isEmpty || after.hasPrefix(":") ? authority[...end] : authority
    }
}
