/// The kind of a file in place of a key or a certificate, for the error.
package struct FileKind: Sendable, Equatable, CustomStringConvertible {
    /// The kind in words: `a PKCS#12 file (.p12)`.
    package let description: String

    private init(words: String) { description = words }

    /// Recognizes the contents of a file; returns `nil` if they are none of the kinds that operators mix up.
    ///
    /// - Parameter text: the contents, in which bytes that are no UTF-8 were replaced.
    package init?(_ text: String) {
        let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        // JSON comes first, because a service account has a PEM text as a member.
        if start.hasPrefix("{") || start.hasPrefix("[") {
            self.init(words: Self.words(forJSON: start))
        } else if let label = Self.label(in: start) {
            self.init(words: Self.words(forLabel: label))
        } else if let key = ["ssh-", "ecdsa-sha2-", "sk-ssh-"].first(where: { start.hasPrefix($0) }) {
            self.init(words: "a public key of SSH (\(key)…)")
        } else if start.hasPrefix("PuTTY-User-Key-File") {
            self.init(words: "a key of PuTTY")
        } else if let words = Self.wordsForDER(text) {
            self.init(words: words)
        } else if let words = Self.wordsForBase64(start) {
            self.init(words: words)
        } else {
            return nil
        }
    }

    /// Returns the label of the first PEM block.
    private static func label(in text: Substring) -> String? {
        guard let begin = text.firstRange(of: "-----BEGIN "),
            let end = text[begin.upperBound...].firstRange(of: "-----")
        else { return nil }
        return String(text[begin.upperBound..<end.lowerBound])
    }

    static func words(forLabel label: String) -> String {
        switch label {
        case "PRIVATE KEY": "a private key (PKCS#8)"
        case "ENCRYPTED PRIVATE KEY": "a private key with a passphrase"
        case "EC PRIVATE KEY": "an EC private key in the form SEC 1"
        case "RSA PRIVATE KEY": "an RSA private key in the form PKCS#1"
        case "OPENSSH PRIVATE KEY": "a private key of SSH"
        case "PUBLIC KEY", "RSA PUBLIC KEY": "a public key"
        case "CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE": "a certificate"
        case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST": "a request for a certificate"
        case "EC PARAMETERS": "the parameters of a curve without a key"
        case "DH PARAMETERS": "parameters for Diffie-Hellman"
        case "PKCS7", "CMS": "a PKCS#7 file (.p7b)"
        default: "another kind of PEM file"
        }
    }

    private static func words(forJSON text: Substring) -> String {
        func has(_ name: String) -> Bool { text.contains("\"\(name)\"") }
        if has("service_account") { return "a service account of Google (JSON)" }
        if has("project_info") { return "google-services.json, the configuration of an Android app" }
        if has("kty") { return has("keys") ? "a key set (JWKS)" : "a key in JSON (JWK)" }
        return "a JSON file"
    }

    /// A binary file of OpenSSL, Java or Windows is a DER sequence, which begins with a length and then its first member.
    private static func wordsForDER(_ text: String) -> String? {
        // The length takes at most five bytes, some of which may have been replaced.
        let head = Array(text.unicodeScalars.prefix(10).map(\.value))
        guard head.count == 10, head[0] == 0x30, head[1] >= 0x80 || head[2...3] == [2, 1] else { return nil }
        let isPKCS12 = head.firstRange(of: [2, 1, 3]) != nil
        return isPKCS12 ? "a PKCS#12 file (.p12, .pfx)" : "a binary file (DER), and not PEM"
    }

    /// A key that has gone through a store of secrets is often base64 of a whole PEM file, or has lost its first line.
    private static func wordsForBase64(_ text: Substring) -> String? {
        let body = String(text.filter { !$0.isWhitespace })
        guard body.utf8.count >= 40, let bytes = Base64.decode(body) ?? Base64URL.decode(body) else { return nil }
        let inner = String(decoding: bytes, as: UTF8.self)
        if let label = label(in: inner[...]) {
            return "base64 of a PEM file, which holds \(words(forLabel: label)): decode it once (base64 -d)"
        }
        if inner.hasPrefix("{"), inner.contains("\"") {
            return "base64 of \(words(forJSON: inner[...])): decode it once (base64 -d)"
        }
        return wordsForDER(inner).map { _ in "base64 without its first and last line (-----BEGIN …-----)" }
    }
}
