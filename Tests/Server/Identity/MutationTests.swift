import CallCore
import Crypto
import Identity
import SeededRandom
import Testing

@Suite("Changed tokens")
struct MutationTests {
    @Test("A valid token is refused after random changes", arguments: ["HS256", "RS256", "ES256"])
    func mutated(name: String) throws {
        let signer = try #require(try TestKeys.all.first { $0.algorithm == name })
        let verifier = try signer.verifier()
        let good = Array(signer.token(payload: TestKeys.payload).utf8)
        let rest = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=".utf8)
        for seed in 0..<3000 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var token = good
            for _ in 0...generator.below(3) {
                let place = generator.below(token.count)
                let byte = generator.below(2) == 0 ? UInt8(generator.below(256)) : rest[generator.below(rest.count)]
                switch generator.below(6) {
                case 0: token[place] ^= 1 << UInt8(generator.below(8))
                case 1: token[place] = byte
                case 2: token.insert(byte, at: place)
                case 3: token.remove(at: place)
                case 4: token.swapAt(place, generator.below(token.count))
                default: token.removeLast(generator.below(min(token.count - 1, 20)))
                }
            }
            if token == good { continue }
            #expect(throws: TokenError.self, "\(name), seed \(seed)") {
                try verifier.verify(token, atSeconds: TestKeys.now)
            }
        }
        #expect(try verifier.verify(good, atSeconds: TestKeys.now).user.text == "11")
    }

    @Test("A token that is changed and signed again is refused or has valid claims, and never crashes the verifier")
    func mutatedContent() throws {
        let signer = try TestKeys.shared.get().hs256
        let verifier = try signer.verifier()
        let payload = Array(
            #"{"sub":"11","uid":5,"name":"\ud83d\ude00","rooms":["room:x"],"scope":"a b","exp":1800003600.5,"nbf":1e9}"#
                .utf8
        )
        let header = Array(#"{"alg":"HS256","typ":"JWT","kid":"a"}"#.utf8)
        for seed in 0..<3000 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var parts = [header, payload]
            for _ in 0...generator.below(4) {
                let part = generator.below(5) == 0 ? 0 : 1
                let place = generator.below(parts[part].count)
                switch generator.below(3) {
                case 0: parts[part][place] = UInt8(generator.below(256))
                case 1: parts[part].insert(UInt8(generator.below(128)), at: place)
                default: parts[part].remove(at: place)
                }
            }
            let token = signer.token(
                headerPart: Base64URL.encode(parts[0]),
                payloadPart: Base64URL.encode(parts[1])
            )
            guard let claims = try? verifier.verify(token, atSeconds: TestKeys.now) else { continue }
            let user = claims.user.text
            #expect((1...128).contains(user.utf8.count) && user.allSatisfy(\.isASCII), "seed \(seed)")
            #expect(claims.expiresAtSeconds.map { $0 + 60 > TestKeys.now } == true, "seed \(seed)")
        }
    }
}
