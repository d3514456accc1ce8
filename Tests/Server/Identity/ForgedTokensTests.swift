import CallCore
import Crypto
import Identity
import Testing

@Suite("Forged and malformed tokens")
struct ForgedTokensTests {
    @Test("Each forged token is refused with the expected error, whose text contains no part of the token")
    func refused() throws {
        let forgeries = try Forgery.all()
        #expect(forgeries.count >= 150)
        #expect(Set(forgeries.map(\.name)).count == forgeries.count)
        for forgery in forgeries {
            do {
                let claims = try forgery.verifier.verify(forgery.token, atSeconds: TestKeys.now)
                Issue.record("\(forgery): accepted as \(claims.user.text)")
            } catch {
                #expect(error == forgery.error, "\(forgery)")
                #expect(!error.description.contains("eyJ") && !error.description.contains("\n"), "\(forgery)")
            }
        }
        print("\(forgeries.count) forged tokens")
    }

    @Test("Each forged token is refused as a string, too")
    func refusedAsText() throws {
        for forgery in try Forgery.all() {
            guard let text = String(validating: forgery.token, as: UTF8.self) else { continue }
            #expect(throws: forgery.error, "\(forgery)") { try forgery.verifier.verify(text, atSeconds: TestKeys.now) }
        }
    }

    @Test("A token of 12288 bytes, the maximum, is still read")
    func longest() throws {
        let signer = try TestKeys.shared.get().hs256
        func token(_ count: Int) -> String {
            signer.token(payload: #"{"sub":"11","exp":1800003600,"x":"\#(String(repeating: "a", count: count))"}"#)
        }
        let fill = try #require((8900...9200).first { token($0).utf8.count == 12_288 })
        #expect(try signer.verifier().verify(token(fill), atSeconds: TestKeys.now).user.text == "11")
    }
}
