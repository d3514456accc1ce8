import Crypto
import JSON

/// A JWKS (RFC 7517): its usable keys, and warnings for the operator about the other keys.
struct KeySet {
    private(set) var keys: [VerificationKey] = []
    private(set) var warnings: [String] = []

    /// Reads a JWKS.
    ///
    /// Keys of unknown kinds are skipped, as RFC 7517, section 5 requires. A malformed key is skipped too: one such key
    /// must not make the whole set useless. Each skipped key leaves a warning. In a published set, secret keys (`oct`)
    /// are skipped as well: everyone who can read the set could sign with them.
    init(json: [UInt8], isPublished: Bool = false) throws(TokenKeyError) {
        let parsed: JSONValue
        do { parsed = try JSONValue(json) } catch { throw .keySetSyntax }
        guard case .object(let set) = parsed, case .array(let entries)? = set["keys"] else { throw .keySetSyntax }
        for (index, entry) in entries.enumerated() {
            do {
                let key = try Self.key(entry)
                if isPublished, case .secret = key.material {
                    throw Skipped(description: "it is a secret key in a public set")
                }
                keys.append(key)
                if case .object(let object) = entry, object["d"] != nil {
                    warnings.append("key \(index + 1) of the JWKS holds a private key, which must not be published")
                }
            } catch {
                warnings.append("key \(index + 1) of the JWKS is not used: \(error)")
            }
        }
        guard !keys.isEmpty else { throw .keySetUseless(warnings) }
    }

    /// The reason why one key is skipped.
    private struct Skipped: Error, CustomStringConvertible {
        let description: String
    }

    private static func key(_ entry: JSONValue) throws(Skipped) -> VerificationKey {
        guard case .object(let object) = entry else { throw Skipped(description: "it is not an object") }
        let id: [UInt8]?
        switch object["kid"] {
        case nil: id = nil
        case .string(let text)?: id = text
        default: throw Skipped(description: "its kid is not a string")
        }
        let material = try material(of: object)
        let key = VerificationKey(id: id, material: material)
        if let algorithm = object["alg"], algorithm.text != Array(key.algorithm.utf8) {
            throw Skipped(description: "its alg is not \(key.algorithm)")
        }
        if let use = object["use"], use.text != Array("sig".utf8) { throw Skipped(description: "its use is not sig") }
        if let operations = object["key_ops"], operations.texts?.contains(Array("verify".utf8)) != true {
            throw Skipped(description: "its key_ops do not hold verify")
        }
        return key
    }

    private static func material(of object: JSONMembers) throws(Skipped) -> VerificationKey.Material {
        switch object["kty"]?.text.map({ String(decoding: $0, as: UTF8.self) }) {
        case "EC":
            guard object["crv"]?.text == Array("P-256".utf8) else { throw Skipped(description: "its crv is not P-256") }
            let (x, y) = (try bytes("x", of: object), try bytes("y", of: object))
            do { return .publicKey(try PublicKey(p256X: x, y: y)) } catch { throw Skipped(description: "\(error)") }
        case "RSA":
            let (n, e) = (try bytes("n", of: object), try bytes("e", of: object))
            do {
                return .publicKey(try PublicKey(rsaModulus: n, exponent: e))
            } catch {
                throw Skipped(description: "\(error)")
            }
        case "oct":
            let secret = try bytes("k", of: object)
            guard !secret.isEmpty else { throw Skipped(description: "its k is empty") }
            return .secret(secret)
        default:
            throw Skipped(description: "its kty must be EC, RSA or oct")
        }
    }

    private static func bytes(_ name: String, of object: JSONMembers) throws(Skipped) -> [UInt8] {
        guard let text = object[name]?.text, let bytes = Base64URL.decode(text.span) else {
            throw Skipped(description: "its \(name) is not base64url")
        }
        return bytes
    }
}
