import Glibc

/// The name and the port of a `scheme://host:port`.
struct HostAddress {
    /// The name, or an address without its brackets.
    let name: String
    let port: Int
    private let isAddress: Bool

    /// Reads them; nil if the text is not of the form, so that libcurl has to say what is wrong with it.
    init?(_ text: String) {
        guard let scheme = text.firstRange(of: "://") else { return nil }
        let rest = text[scheme.upperBound...]
        let end = rest.hasPrefix("[") ? rest.firstIndex(of: "]").map(rest.index(after:)) : rest.firstIndex(of: ":")
        let host = rest[..<(end ?? rest.endIndex)]
        let after = rest[host.endIndex...]
        guard !host.isEmpty, !host.contains("@"), !after.contains("@") else { return nil }
        if after.isEmpty {
            port = text.hasPrefix("https") ? 443 : 80
        } else {
            guard let number = UInt16(after.dropFirst()) else { return nil }
            port = Int(number)
        }
        name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host)
        isAddress = host.hasPrefix("[") || Self.isIPv4(name)
    }

    /// The name to look up; nil if the host is an address.
    var lookedUpName: String? { isAddress ? nil : name }

    /// Returns the entry of `CURLOPT_RESOLVE` with these addresses, which libcurl forgets after a while.
    func entry(_ addresses: [String]) -> String {
        let list = addresses.map { $0.contains(":") ? "[\($0)]" : $0 }.joined(separator: ",")
        return "+\(name):\(port):\(list)"
    }

    private static func isIPv4(_ text: String) -> Bool {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1
    }
}
