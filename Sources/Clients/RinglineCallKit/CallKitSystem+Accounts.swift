#if canImport(CallKit) && !os(macOS)
import CallClient
public import CallCore
import Foundation
import PushKit
import RinglineKit

/// The accounts that share the adapter.
extension CallKitSystem {
    /// A call that CallKit knows.
    struct Line {
        /// The account to which it belongs.
        let account: CallKitAccount
        /// Whether it has video.
        var hasVideo: Bool
        /// Whether the user has begun or answered it, so that the audio session is prepared for it.
        var isTaken = false
    }

    /// Returns the call system of one account, for an app on which several users are signed in at a time.
    ///
    /// - Parameters:
    ///   - user: the user of the account.
    ///   - label: the account's label behind callers' names, also in the list of recent calls; `nil` = none.
    /// - Returns: the call system, for the ports of the account's `Ringline`.
    public func account(for user: UserID, label: String? = nil) -> CallKitAccount {
        CallKitAccount(user, label: label, of: self)
    }

    /// An account was signed in or out.
    func changed(_ account: CallKitAccount) {
        accounts.removeAll { $0 === account }
        guard let events = account.events else { return }
        accounts.append(account)
        if let token = registry.pushToken(for: .voIP) { events(.voipToken(Self.hex(token))) }
        if isAudioActive { events(.input(.audioActivated)) }
    }

    /// Hands an event to all accounts that are signed in.
    func tellAll(_ event: CallSystemEvent) { for account in accounts { account.events?(event) } }

    /// Hands an input about a call to its account.
    func tell(_ call: CallUUID, _ input: CallClient.Input) { account(of: call)?.events?(.input(input)) }

    /// Returns the account of a call; for an unknown call, which a core will refuse, the first account.
    func account(of call: CallUUID) -> CallKitAccount? {
        let known = lines[call]?.account
        return known?.events == nil ? accounts.first : known
    }

    /// Returns the account that takes a push: that of the user whom the push names, else the first one, whose core reports
    /// the call, ends it, and tells the server.
    func account(forPush dictionary: [AnyHashable: Any]) -> CallKitAccount? {
        let named = dictionary["toUserId"]
        let user = named as? String ?? (named as? NSNumber)?.stringValue
        return accounts.first { $0.user?.text == user && user != nil } ?? accounts.first { $0.user == nil }
            ?? accounts.first
    }

    /// Returns the account that a call of the list of recent calls belongs to.
    func account(forHandle handle: DialRequest?) -> CallKitAccount? {
        guard let user = handle?.account else { return nil }
        return accounts.first { $0.user == user }
    }
}
#endif
