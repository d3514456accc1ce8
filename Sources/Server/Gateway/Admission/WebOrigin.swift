/// The origin of a web page: scheme, host and port (RFC 6454), in the form in which browsers send it.
package struct WebOrigin: Hashable, Sendable {
    /// The scheme, in lower case.
    let scheme: String
    /// The host as ``Authority`` has it; empty for pages of files.
    let host: String
    /// The port; `nil` = the scheme's own, or none.
    let port: Int?

    /// The origin as browsers send it, without the scheme's own port.
    package var text: String { "\(scheme)://\(host)" + (port.map { ":\($0)" } ?? "") }

    /// Parses an `Origin` header; `nil` for `null` and whatever else is no origin.
    init?(_ text: String) {
        guard let (scheme, rest) = Self.split(text) else { return nil }
        self.scheme = scheme
        if rest.isEmpty, scheme == "file" {
            host = ""
            port = nil
            return
        }
        guard let authority = Authority(rest) else { return nil }
        host = authority.host
        port = authority.port == Self.ownPorts[scheme] ? nil : authority.port
    }

    /// Whether the origin's page came from the server at this `Host`.
    ///
    /// A proxy may write its own port into `Host` although clients leave it out: 80 if it forwards without TLS, 443 if
    /// it has the certificate. So for an origin without a port, both count as none.
    func isServed(at server: Authority) -> Bool {
        guard server.host == host else { return false }
        guard let ownPort = Self.ownPorts[scheme] else { return server.port == port }
        if server.port == port ?? ownPort { return true }
        return port == nil && (server.port == nil || server.port == 80 || server.port == 443)
    }

    private static let ownPorts = ["http": 80, "https": 443]

    private static func split(_ text: String) -> (scheme: String, rest: Substring)? {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return nil
        }
        let scheme = text[..<colon]
        guard let first = scheme.utf8.first, isLetter(first),
            scheme.utf8.allSatisfy({ isLetter($0) || (48...57).contains($0) || "+-.".utf8.contains($0) })
        else { return nil }
        return (scheme.lowercased(), text[bytes.index(colon, offsetBy: 3)...])
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte) || (65...90).contains(byte) }
}

/// An Origin in the operator's settings.
extension WebOrigin {
    /// Why a setting names no origin that a browser could send, in a few words.
    package struct Fault: Error, Equatable {
        package let why: String

        init(_ why: String) { self.why = why }
    }

    /// Returns a setting in the form in which browsers send an origin; `*` = any origin.
    ///
    /// A slash at the end, upper case and the scheme's own port make no difference. Anything else that no browser sends
    /// is refused: otherwise the setting would silently never match.
    package static func configured(_ text: String) throws(Fault) -> String {
        if text == "*" { return text }
        guard text != "null" else {
            throw Fault("null is sent by pages of files and in sandboxes, which anybody can make")
        }
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Fault("browsers send a name in ASCII: write the host as xn--…")
        }
        guard let (scheme, rest) = split(text) else { throw Fault("it has no scheme, such as https://") }
        guard !rest.contains("*") else {
            throw Fault("a part of a name cannot be a wildcard: name each Origin, or * alone for any")
        }
        guard !rest.contains("@") else { throw Fault("an Origin has no user name") }
        let origin = rest.hasSuffix("/") ? rest.dropLast() : rest
        guard !origin.contains(where: { "/?#\\".contains($0) }) else { throw Fault("an Origin has no path") }
        guard scheme != "ws", scheme != "wss" else {
            throw Fault("the Origin of a page begins with http:// or https://, also when the page opens a WebSocket")
        }
        if let found = WebOrigin("\(scheme)://\(origin)") { return found.text }
        // The pages of apps have schemes of their own, such as app://. in Electron, whose rest need not be a host.
        guard !origin.isEmpty, ownPorts[scheme] == nil else {
            throw Fault("its host or its port is invalid")
        }
        return "\(scheme)://\(origin)"
    }
}
