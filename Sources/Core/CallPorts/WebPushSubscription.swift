/// A browser's subscription to Web Push: where a message goes, and the keys with which it is encrypted.
///
/// Source: "PushSubscription", W3C Push API; RFC 8291, section 3.
package struct WebPushSubscription: Equatable, Sendable {
    /// The address that the browser's push service gave out, a secret: messages to it need no other permission than the key
    /// with which the browser subscribed.
    package var endpoint: String
    /// The browser's public key, a point on P-256 in base64url, 87 characters.
    package var p256dh: String
    /// The secret that the browser shares with those who push to it: 16 bytes in base64url, 22 characters.
    package var auth: String

    /// A subscription with the given members.
    package init(endpoint: String, p256dh: String, auth: String) {
        self.endpoint = endpoint
        self.p256dh = p256dh
        self.auth = auth
    }
}

/// The parts of a subscription's endpoint, which a user names and the server connects to.
///
/// Only addresses that every parser of URLs understands in the same way are accepted: `https://`, a host name of letters,
/// digits, hyphens and dots, perhaps a port, and a path of printable ASCII without a fragment and without `.` and `..`.
package struct WebPushEndpoint: Equatable, Sendable {
    /// The host's name in lower case.
    package let host: String
    /// The port; 443 if the address has none.
    package let port: UInt16
    /// Scheme, host and port, as RFC 6454 writes an origin: the port is left out if it is 443.
    package let origin: String
    /// The normalized address: it begins with ``origin``.
    package let address: String

    /// The largest length of an endpoint, in bytes.
    package static let maximumBytes = 2_048

    /// Why no message may be sent to an address.
    package enum Fault: Error {
        /// It is not of the form.
        case malformed
        /// Its host is not on the list.
        case notAllowed
    }

    /// Reads an endpoint; `nil` if it is not of the form.
    package init?(_ text: String) {
        let scheme = "https://"
        guard text.utf8.count <= Self.maximumBytes, text.prefix(scheme.count).lowercased() == scheme,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !#"#\"<>^`{|}"#.utf8.contains($0) })
        else { return nil }
        let rest = text.dropFirst(scheme.count)
        guard let slash = rest.firstIndex(of: "/") else { return nil }
        // Some clients would remove such segments, so that two addresses would be one.
        let path = rest[slash...].prefix { $0 != "?" }.lowercased().replacing("%2e", with: ".")
        guard path.split(separator: "/").allSatisfy({ $0 != "." && $0 != ".." }) else { return nil }
        let parts = rest[..<slash].split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let name = parts.first, Self.isHostName(name) else { return nil }
        host = name.lowercased()
        if parts.count == 2 {
            guard let number = Self.port(parts[1]) else { return nil }
            port = number
        } else {
            port = 443
        }
        origin = scheme + host + (port == 443 ? "" : ":\(port)")
        address = origin + rest[slash...]
    }

    /// Returns the port that a text names: digits, 1 to 65,535.
    static func port(_ text: Substring) -> UInt16? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(text), number > 0 else {
            return nil
        }
        return number
    }

    /// Returns whether a text is a host name, or looks like an IPv4 address.
    static func isHostName(_ text: Substring) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        return (1...253).contains(text.utf8.count)
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                    && label.utf8.allSatisfy { byte in
                        switch byte {
                        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): true
                        default: false
                        }
                    }
            }
    }
}

/// The hosts to which Web Push messages may be sent.
///
/// Users name the endpoints, so without this list a user could make the server connect to any host.
package struct WebPushHosts: Equatable, Sendable {
    /// A host, or all hosts of a domain.
    private struct Host: Equatable {
        /// The host's name or, for all hosts of a domain, the end of their names, which begins with a dot.
        let name: String
        /// The port that the operator named; `nil` = 443.
        let port: UInt16?

        func allows(_ endpoint: WebPushEndpoint) -> Bool {
            guard endpoint.port == port ?? 443 else { return false }
            guard name.hasPrefix(".") else { return endpoint.host == name }
            return endpoint.host.hasSuffix(name) && endpoint.host.utf8.count > name.utf8.count
        }
    }

    /// The push services of Chrome, Firefox, Edge and Safari.
    ///
    /// `*.` stands for any host of a domain.
    package static let services = [
        "fcm.googleapis.com", "*.push.services.mozilla.com", "*.notify.windows.com", "*.push.apple.com",
    ]

    private var hosts: [Host] = services.compactMap(Self.host)

    /// The origins to which a probe connects: one of each service but Microsoft's, which has many hosts, and those of the
    /// operator's hosts.
    package var origins: [String] {
        let known = [
            "https://fcm.googleapis.com", "https://updates.push.services.mozilla.com", "https://web.push.apple.com",
        ]
        let added = hosts.dropFirst(Self.services.count).filter { !$0.name.hasPrefix(".") }
        return known + added.map { "https://\($0.name)" + ($0.port.map { ":\($0)" } ?? "") }
    }

    /// Creates the list of the known push services.
    package init() {}

    /// Adds a host: `host`, `*.domain` or `host:port`; returns false if the text is none of them.
    ///
    /// Only a host that is named with its port may have an address of a private network: the operator vouches for it.
    package mutating func add(_ text: String) -> Bool {
        guard let host = Self.host(text) else { return false }
        hosts.append(host)
        return true
    }

    private static func host(_ text: String) -> Host? {
        let isDomain = text.hasPrefix("*.")
        let parts = text.dropFirst(isDomain ? 2 : 0).split(separator: ":", omittingEmptySubsequences: false)
        guard let name = parts.first, parts.count <= 2, WebPushEndpoint.isHostName(name) else { return nil }
        guard parts.count == 2 else { return Host(name: (isDomain ? "." : "") + name.lowercased(), port: nil) }
        guard !isDomain, let port = WebPushEndpoint.port(parts[1]) else { return nil }
        return Host(name: name.lowercased(), port: port)
    }

    /// Reads an endpoint to which messages may be sent.
    ///
    /// It is checked when a browser registers it, and again for each message: the list may have been longer then.
    package func endpoint(_ text: String) throws(WebPushEndpoint.Fault) -> WebPushEndpoint {
        guard let endpoint = WebPushEndpoint(text) else { throw .malformed }
        guard allows(endpoint) else { throw .notAllowed }
        return endpoint
    }

    /// Returns whether messages may be sent to an endpoint.
    package func allows(_ endpoint: WebPushEndpoint) -> Bool { hosts.contains { $0.allows(endpoint) } }

    /// Returns whether an endpoint's host may have an address of a private network.
    package func mayBePrivate(_ endpoint: WebPushEndpoint) -> Bool {
        hosts.contains { $0.port != nil && $0.allows(endpoint) }
    }
}
