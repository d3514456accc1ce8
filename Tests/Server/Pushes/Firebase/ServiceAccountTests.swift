import Testing

@testable import Pushes

@Suite("The file of a service account")
struct ServiceAccountTests {
    @Test("A file that cannot be used says which member is at fault, and never shows the key")
    func errors() throws {
        let members = [
            ("project_id", "chat-1"), ("client_email", "a@b.example"), ("token_uri", "https://a.example/token"),
            ("private_key", "KEY"),
        ]
        func error(_ change: (String, String?)?) -> ServiceAccountError? {
            let all = members.compactMap { name, value in
                (change?.0 == name ? change?.1 : value).map { "\"\(name)\":\"\($0)\"" }
            }
            do throws(ServiceAccountError) {
                _ = try ServiceAccount(Array("{\(all.joined(separator: ","))}".utf8))
                return nil
            } catch { return error }
        }
        for (name, _) in members {
            #expect(error((name, nil)) == .missing(name))
            #expect(error((name, "")) == .missing(name))
        }
        #expect(error(("project_id", "a/b")) == .malformed("project_id"))
        #expect(error(("token_uri", "http://a.example")) == .malformed("token_uri"))
        for uri in ["https://", "https:///token", "https://a b", "https://a\\u000d\\u000aX"] {
            #expect(error(("token_uri", uri)) == .malformed("token_uri"), "\(uri)")
        }
        #expect(error(("project_id", "..")) == .malformed("project_id"))
        let unusable = try #require(error(nil))
        #expect(unusable == .unusableKey("it has no PEM block (-----BEGIN …-----)"))
        #expect(!unusable.description.contains("KEY\""))
        let others = [
            "[]": "a JSON file", "{\"project_info\":{}}": "google-services.json",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": "a private key (PKCS#8)",
        ]
        for (text, kind) in others {
            do {
                _ = try ServiceAccount(Array(text.utf8))
                Issue.record("\(text) was accepted")
            } catch { #expect(error.description.contains("gives out, but it is \(kind)")) }
        }
        #expect(throws: ServiceAccountError.notJSON(nil)) { try ServiceAccount([]) }
    }
}
