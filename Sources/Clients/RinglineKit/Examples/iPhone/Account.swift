import Foundation
import RinglineKit
import Security

/// A user who is signed in.
///
/// Here the user enters the token; an app gets it from its own backend.
struct Account: Codable {
    var server = "http://192.168.1.5:8080"
    var user = "10"
    var token = ""
}

/// Hands the kit its tokens.
final class Tokens: TokenSource {
    private let account: Account

    init(_ account: Account) { self.account = account }

    func token(refused: String?) async throws -> String {
        // An app asks its backend for a new one here.
        if refused == account.token { throw RefusedToken() }
        return account.token
    }
}

struct RefusedToken: LocalizedError {
    var errorDescription: String? { "The server has refused it: sign in again." }
}

/// Keeps the account where a push can use it while the iPhone is locked, and where no backup goes.
enum Keychain {
    private static var item: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: "account"]
    }

    static var account: Account? {
        get {
            var query = item
            query[kSecReturnData] = true
            var found: CFTypeRef?
            guard SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess, let data = found as? Data
            else { return nil }
            // An account of another version of the app: the user signs in again.
            return try? JSONDecoder().decode(Account.self, from: data)
        }
        set {
            SecItemDelete(item as CFDictionary)
            // An account is always JSON; without one, nothing is kept.
            guard let newValue, let data = try? JSONEncoder().encode(newValue) else { return }
            var added = item
            added[kSecValueData] = data
            added[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            SecItemAdd(added as CFDictionary, nil)
        }
    }
}
