import Crypto
import JSON

/// A service account of Google, as its JSON file describes it: in its name the server sends Firebase messages.
///
/// Source: "Using OAuth 2.0 for server to server applications", Google.
package struct ServiceAccount: Sendable {
    /// The id of the Firebase project.
    package let projectID: String
    /// The account's name, an e-mail address.
    package let clientEmail: String
    /// The id of the key.
    let keyID: String
    /// The address that gives out access tokens.
    let tokenURI: String
    let key: RSASigningKey

    /// Reads the contents of the file that the Firebase console gives out.
    ///
    /// - Throws: ``ServiceAccountError``, one clear sentence for the operator.
    package init(_ file: [UInt8]) throws(ServiceAccountError) {
        let object: JSONObject
        let kind = FileKind(String(decoding: file, as: UTF8.self))?.description
        do { object = try JSONObject(file, names: .none) } catch { throw .notJSON(kind) }
        guard object.text("project_id") != nil || object.text("private_key") != nil else { throw .notJSON(kind) }
        func member(_ name: String) throws(ServiceAccountError) -> String {
            guard let text = object.text(name), !text.isEmpty else { throw .missing(name) }
            return text
        }
        projectID = try member("project_id")
        clientEmail = try member("client_email")
        keyID = object.text("private_key_id") ?? ""
        tokenURI = try member("token_uri")
        // The project's id becomes a part of a URL's path.
        guard projectID.utf8.allSatisfy(Self.isAllowedInProjectID), !projectID.contains("..") else {
            throw .malformed("project_id")
        }
        let rest = tokenURI.dropFirst("https://".count)
        guard tokenURI.hasPrefix("https://"), let first = rest.first, !"/?#".contains(first),
            rest.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw .malformed("token_uri") }
        let pem = try member("private_key")
        do { key = try RSASigningKey(pem: pem) } catch { throw .unusableKey(error.description) }
    }

    private static func isAllowedInProjectID(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x61...0x7A, 0x41...0x5A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"): true
        default: false
        }
    }

    /// Returns the signed assertion that the token endpoint exchanges for an access token (RFC 7523).
    ///
    /// `seconds`: The time of issue, in seconds since 1970. The assertion is valid for an hour, the longest that Google
    /// allows.
    func assertion(issuedAt seconds: Int64) throws(KeyError) -> String {
        var header = JSONWriter()
        header.beginObject()
        header.name("alg")
        header.plain("RS256")
        header.name("typ")
        header.plain("JWT")
        header.name("kid")
        header.value(keyID)
        header.endObject()
        var claims = JSONWriter()
        claims.beginObject()
        claims.name("iss")
        claims.value(clientEmail)
        claims.name("scope")
        claims.value("https://www.googleapis.com/auth/firebase.messaging")
        claims.name("aud")
        claims.value(tokenURI)
        claims.name("iat")
        claims.value(seconds)
        claims.name("exp")
        claims.value(seconds + 3_600)
        claims.endObject()
        return try CompactJWS.text(header: header.bytes, payload: claims.bytes, sign: key.sign)
    }
}

/// Why a service account's file cannot be used.
package enum ServiceAccountError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file is not a JSON object, or that of something else; the value is what it seems to be, in words.
    case notJSON(String?)
    /// A member is missing or empty.
    case missing(String)
    /// A member is not of its form.
    case malformed(String)
    /// The private key cannot be used; the text tells why.
    case unusableKey(String)

    /// One sentence about the error, without the key.
    package var description: String {
        switch self {
        case .notJSON(let kind):
            "The service account must be the JSON file that the Firebase console gives out"
                + (kind.map { ", but it is \($0)." } ?? ".")
        case .missing(let name): "The service account has no \(name)."
        case .malformed(let name): "The service account's \(name) is malformed."
        case .unusableKey(let why): "The service account's private_key cannot be used: \(why)."
        }
    }
}
