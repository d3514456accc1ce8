import Crypto
import Testing

@Suite("Digests, message authentication codes and encodings")
struct CryptoTests {
    @Test("SHA-256 returns the digests of FIPS 180")
    func digests() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(Hex.encode(SHA256.hash("")) == empty)
        #expect(Hex.encode(SHA256.hash("abc")) == abc)
    }

    /// The keys, messages and codes of RFC 4231, sections 4.2 to 4.8; the code of 4.6 is cut to 128 bits.
    static let rfc4231: [([UInt8], [UInt8], String)] = [
        (
            [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            Array(1...25), [UInt8](repeating: 0xCD, count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            [UInt8](repeating: 0x0C, count: 20), Array("Test With Truncation".utf8),
            "a3b6167473100ee06e0c796c2955552b"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131),
            Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
                    + "hashed before being used by the HMAC algorithm.").utf8
            ),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test("HMAC-SHA256 returns the codes of RFC 4231", arguments: rfc4231)
    func codes(key: [UInt8], message: [UInt8], code: String) {
        #expect(Hex.encode(HMACSHA256.code(of: message, key: key)).hasPrefix(code))
    }

    @Test("HMAC-SHA1 returns the code of RFC 2202, and both HMACs take an empty key and an empty message")
    func sha1Codes() {
        let code = HMACSHA1.code(of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
        #expect(Hex.encode(code) == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
        #expect(Hex.encode(HMACSHA1.code(of: [], key: [])) == "fbdb1d1b18aa6c08324b7d64b71fb76370690e1d")
        let empty = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"
        #expect(Hex.encode(HMACSHA256.code(of: [], key: [])) == empty)
    }

    @Test("The constant-time comparison finds differences in length and in bytes")
    func constantTime() {
        #expect(ConstantTime.equal([], []))
        #expect(ConstantTime.equal([1, 2], [1, 2]))
        #expect(!ConstantTime.equal([1, 2], [1, 3]))
        #expect(!ConstantTime.equal([1, 2], [1, 2, 0]))
    }

    @Test("Base64 and base64url encode and decode the vectors of RFC 4648")
    func base64() {
        let vectors = ["": "", "f": "Zg==", "fo": "Zm8=", "foo": "Zm9v", "foob": "Zm9vYg==", "fooba": "Zm9vYmE="]
        for (bytes, text) in vectors {
            #expect(Base64.encode(Array(bytes.utf8)) == text)
            #expect(Base64.decode(text) == Array(bytes.utf8))
            let bare = text.filter { $0 != "=" }
            #expect(Base64URL.encode(Array(bytes.utf8)) == bare)
            #expect(Base64URL.decode(bare) == Array(bytes.utf8))
        }
        #expect(Base64.encode([0xFB, 0xFF]) == "+/8=" && Base64URL.encode([0xFB, 0xFF]) == "-_8")
    }

    @Test("Random bytes survive base64, base64url and hexadecimal")
    func roundTrips() {
        for count in 0..<100 {
            let bytes = SecureRandom.bytes(count)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
            #expect(Hex.decode(Hex.encode(bytes)) == bytes)
        }
        #expect(SecureRandom.bytes(32) != SecureRandom.bytes(32))
    }

    @Test("Base64 and base64url accept only one text for each byte string; hexadecimal accepts both cases")
    func canonical() {
        for text in ["Zg==", "Zh", "Z", "Zg=", "Zm9=", "Z m9v", "Zm9v\n", "+_8", "Zm9vZ", "Ä", "AAF"] {
            #expect(Base64URL.decode(text) == nil, "\(text)")
        }
        for text in ["Zg", "Zh==", "Z===", "====", "=", "Zg=a", "AA=A", "Zg==Zg==", "-_8=", "Zm9v====", "AAA=="] {
            #expect(Base64.decode(text) == nil, "\(text)")
        }
        for text in ["a", "0g", "0x", " 0", "é"] { #expect(Hex.decode(text) == nil, "\(text)") }
        #expect(Hex.decode("0aFf") == [0x0A, 0xFF])
    }
}
