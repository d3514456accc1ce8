import Crypto
import Foundation
import Testing

@testable import Pushes

@Suite("The provider token")
struct ProviderTokenTests {
    static let start: Int64 = 1_800_000_000_000
    let key: P256SigningKey
    let wall = TestClock(start)
    let steady = TestClock(5_000)
    let token: ProviderToken

    init() throws {
        key = try P256SigningKey.generate()
        var configuration = try APNsConfiguration(
            key: key.pem(),
            keyID: "KEY1234567",
            teamID: "TEAM123456",
            clock: wall.read
        )
        configuration.steadyClock = steady.read
        token = ProviderToken(configuration)
    }

    private func pass(minutes: Double) {
        wall.advance(minutes: minutes)
        steady.advance(minutes: minutes)
    }

    @Test("The token is an ES256 JWT of key id, team id and time of issue, and nothing else")
    func form() throws {
        let parts = try token.current().split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        let texts = try parts.prefix(2).map { String(decoding: try #require(Base64URL.decode($0)), as: UTF8.self) }
        #expect(texts == [#"{"alg":"ES256","kid":"KEY1234567"}"#, #"{"iss":"TEAM123456","iat":1800000000}"#])
        let signature = try #require(Base64URL.decode(parts[2]))
        #expect(signature.count == 64)
        #expect(key.publicKey.isValid(signature, for: Array((parts[0] + "." + parts[1]).utf8)))
    }

    @Test("The token is kept for 40 minutes, and then renewed at its next use")
    func keeps() throws {
        let first = try token.current()
        pass(minutes: 39.9)
        #expect(try token.current() == first)
        pass(minutes: 0.2)
        let second = try token.current()
        #expect(second != first)
        pass(minutes: 39.9)
        #expect(try token.current() == second)
    }

    @Test("A new key signs a new token immediately, and the same key changes nothing")
    func anotherKey() throws {
        let first = try token.current()
        func configuration(_ key: P256SigningKey, _ id: String) throws -> APNsConfiguration {
            try APNsConfiguration(key: key.pem(), keyID: id, teamID: "TEAM123456", clock: wall.read)
        }
        token.use(try configuration(key, "KEY1234567").signer)
        #expect(try token.current() == first, "Apple refuses a client that renews too often")
        let other = try P256SigningKey.generate()
        token.use(try configuration(other, "KEY7654321").signer)
        let parts = try token.current().split(separator: ".").map(String.init)
        let header = String(decoding: try #require(Base64URL.decode(parts[0])), as: UTF8.self)
        #expect(header.contains("KEY7654321"))
        let signature = try #require(Base64URL.decode(parts[2]))
        #expect(other.publicKey.isValid(signature, for: Array((parts[0] + "." + parts[1]).utf8)))
    }

    @Test("A token that Apple calls expired is renewed, but not before it is 20 minutes old")
    func renewal() throws {
        let first = try token.current()
        pass(minutes: 19.9)
        #expect(try token.renewed(insteadOf: first) == nil)
        #expect(try token.current() == first)
        pass(minutes: 0.2)
        let second = try #require(try token.renewed(insteadOf: first))
        #expect(second != first)
        #expect(try token.current() == second)
    }

    @Test("A token that Apple refused in many requests at once is renewed only once")
    func renewalIsShared() throws {
        let first = try token.current()
        pass(minutes: 25)
        let second = try token.renewed(insteadOf: first)
        pass(minutes: 0.1)
        for _ in 0..<5 { #expect(try token.renewed(insteadOf: first) == second) }
    }

    @Test("The token is renewed immediately after a jump of the wall clock", arguments: [-120.0, -2, 2, 120])
    func jump(minutes: Double) throws {
        let first = try token.current()
        pass(minutes: 1)
        wall.advance(minutes: minutes)
        let second = try token.current()
        #expect(second != first)
        pass(minutes: 1)
        #expect(try token.current() == second)
    }

    @Test("A clock that drifts by 30 seconds does not renew the token")
    func drift() throws {
        let first = try token.current()
        pass(minutes: 10)
        wall.advance(minutes: 0.5)
        #expect(try token.current() == first)
    }
}

@Suite("The configuration of APNs")
struct APNsConfigurationTests {
    private func error(
        key: String? = nil,
        keyID: String = "KEY1234567",
        teamID: String = "TEAM123456",
        sandbox: String = "https://localhost:1"
    ) throws -> APNsConfigurationError? {
        let pem = try P256SigningKey.generate().pem()
        do {
            _ = try APNsConfiguration(
                key: key ?? pem,
                keyID: keyID,
                teamID: teamID,
                endpoints: .init(sandbox: sandbox),
                clock: { 0 }
            )
            return nil
        } catch {
            return error
        }
    }

    @Test("A valid configuration is accepted, and Apple's endpoints are the default")
    func sound() throws {
        #expect(try error() == nil)
        #expect(APNsConfiguration.Endpoints().sandbox == "https://api.sandbox.push.apple.com")
        #expect(APNsConfiguration.Endpoints().production == "https://api.push.apple.com")
    }

    @Test(
        "A key id or team id of the wrong form is refused",
        arguments: ["", "KEY123456", "KEY12345678", "key1234567", "KEY\"234567", "ＫEY1234"]
    )
    func ids(text: String) throws {
        #expect(try error(keyID: text) == .malformedKeyID)
        #expect(try error(teamID: text) == .malformedTeamID)
    }

    @Test("A key that is not a P-256 key in PKCS#8 is refused, with one sentence that does not contain the key")
    func keys() throws {
        let pkcs8 = try P256SigningKey.generate().pem()
        let keys = [
            "", "hello", try P256SigningKey.generate().publicKey.pem(), String(pkcs8.prefix(pkcs8.count / 2)),
            pkcs8.replacingOccurrences(of: "BEGIN PRIVATE KEY", with: "BEGIN EC PRIVATE KEY"), Self.pem(Self.rsa),
            Self.pem(Self.p384),
        ]
        for key in keys {
            let error = try #require(try error(key: key), "accepted: \(key.prefix(40))")
            guard case .unusableKey = error else {
                Issue.record("\(error)")
                continue
            }
            #expect(error.description.hasPrefix("The APNs key must be") && error.description.hasSuffix("."))
            #expect(!error.description.contains(pkcs8.split(separator: "\n")[1]))
        }
    }

    @Test(
        "An endpoint that is not https://host or https://host:port is refused",
        arguments: [
            "", "https://", "http://localhost", "https://localhost/", "https://a@b", "https://a b", "localhost:443",
        ]
    )
    func endpoints(text: String) throws {
        #expect(try error(sandbox: text) == .malformedEndpoint(text))
    }

    /// Returns a private key as PEM.
    ///
    /// The label is added here, so that no scanner takes these throwaway keys in the source for leaked secrets.
    private static func pem(_ body: String) -> String {
        let label = "PRIVATE KEY-----"
        return "-----BEGIN \(label)\n\(body)\n-----END \(label)\n"
    }

    static let rsa = """
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCaOfr9qBamyJDd
        2K8ZjDLKbQMciST9IMOi1ZuIRSz1/esYR80Do1arYDmFV0Aqh2z2pbkLMeeJiZoj
        cgH9d22Khuxybl1NM/0zBLHtiXVjAegZDmLo394lXyhEylu95/DlXuvjC5u3Qbk1
        WoWLcYFLdL9fbgE5aYJ3dDs0V6XHRlIWK7XSXajaMvnnYzvwkqH5Bq8sRpnGrq49
        upNg8MUYZwDYP+TwFaQtybtgLZ0oqNnYVgBuM6fGoMGZajr+5ZTKANJx/HHNcJhG
        wR96aKvkJqgICFtsF4EYFMMQSm5DNiqhAb9muRQ8EzOp7q5Tp+s7xM7P0rqSu4JQ
        r0gt22O/AgMBAAECggEAJBBc1cXhjhyma4oI4AN9uQIm0RxszthDhydGGGZ8rgUz
        XVkk4q3mTWrR6JFPiuJiI4b7L1f7GZlYtuMo/flYXyVP0y5lmPEIS07UwIP9NCq0
        +G75yBTZYInQ480iCNVc6nX42P3U6tRul8BULBhdsKRbP9h8Zs16Wa6PTZ0VQfSd
        sekvj6xABkdVlnk++XJ4mAG6xsjFFqCwjcDQUhwzRNO+PLHtCZU30qcXzSPiixFm
        b6OJ2YcUootrhh/Y5PCMzUbuYdbvznaW+bN4vkAU0aOtqLigCfCTxku0htG9OepO
        OAhmOOphQBJanj5JGxuV2zsyfR3NHrQWA+sOgDSwIQKBgQDNB1BbNn84OAjjr0QW
        0n/YUTvMRPgnVi/YKj33/QpitoWZ7puqpiMGYWeZKpI/QRPV4BFs/C/4ar+4mYVM
        J2J7kT+qDowfAanpEFhrHxwF+IdTtF1LI/M+JaUhMvnqqkfL8HXWGcQdv+mumFbI
        YbPheHe3b9VnEMhSigInytfN7wKBgQDAkXTYiA9sXWse29j1/6FC/ZltYI6UIFED
        Gswag7a4KSJh4JFweHMNY1yybySrFM2AovUNo63Azg4R6SttN3kuI4+IoNLFMzSH
        BB7LnUCrcAhQS1gyCFpKFQHAZFnieCXG+LvqnXJpn4hf23i88fVbwLYEteWrGUqX
        KV3bBjuXMQKBgHJTYbt65/WxSUOst4sCVceJhI6i5r0IkiU3aNafgusIW/c51hOS
        EHW+WsZNtr8OysC38P+UoCslW0LUWD/etkuw8o8hDYE8rEIJm0QgVL//lXZXXK5J
        nZlJ5Ipeonz39pEBxLNeKr1sBiIVUE7sLCHNyvO+qICQGyPrUMhfk3aBAoGAGRue
        EZGD+Uwg6HAf1MtU2mg4dgNt87BW/8GhtR9RVqe+XOar7+80iR1Ye8d0D35x4QDe
        VL3vrMDxIrK1P9NI0JRAZb8aXC31/liyLzg8s12zJ8z7HeLq6tfcV5p+AcJKoqvR
        zKBkx5LOdDkof/JIXIM++FRDMtDkYds56pHgeTECgYEAj+mLwSiZ0aSEdQf8Dc8f
        dB+vZNcPhl/1q3FvTx9FVsaC+FV1gVvqD5mAHxnl8cQ2Ytooo34ciLSFhqEKlC/w
        GkOraCug+uiZ8ZjA5w/UdaBc0re6MrxI7smcoiblH+w/jLJJ05KBXOT5Xl+s8IGc
        i863FgVRrPGITmrYq+EGAoE=
        """
    static let p384 = """
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDByJfxpX1sFhIMxxIl4
        9DBdUTYnvTxUtnLhpX2wn6K8yMNvox8lYksDgesoG2Q+g8qhZANiAAR5YuTTH6uI
        e2SZAahkZgXy0+nSqxhs1EUqlbgfivD2JesRTX7kwGWgDuBYotxsInKYQG8mKlAU
        xHOsqK0A7OSfWdyTVeQ9v+3gxkN7whjqsyNDlYPvORZfE7ynRFxOUnE=
        """
}
