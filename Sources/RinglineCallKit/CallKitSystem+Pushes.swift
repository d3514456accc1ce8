#if canImport(CallKit) && !os(macOS)
import CallClient
import CallCore
import CallKit
import Foundation
public import PushKit
import RinglineKit

/// The pushes.
extension CallKitSystem: @MainActor PKPushRegistryDelegate {
    /// PushKit gave out a token, which goes to the server.
    public func pushRegistry(
        _ registry: PKPushRegistry,
        didUpdate pushCredentials: PKPushCredentials,
        for type: PKPushType
    ) {
        if type == .voIP { events?(.voipToken(Self.hex(pushCredentials.token))) }
    }

    /// PushKit took the token back, which is withdrawn from the server.
    public func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) {
        if type == .voIP { events?(.voipToken(nil)) }
    }

    /// A push arrived: it is reported before this method returns.
    public func pushRegistry(
        _ registry: PKPushRegistry,
        didReceiveIncomingPushWith payload: PKPushPayload,
        for type: PKPushType,
        completion: @escaping () -> Void
    ) {
        take(payload.dictionaryPayload, completion)
    }

    #if compiler(>=6.3)
    /// A push arrived, by iOS 26.4's method: it is reported before this method returns, whatever the metadata say.
    @available(iOS 26.4, macCatalyst 26.4, visionOS 26.4, watchOS 26.4, *)
    public func pushRegistry(
        _ registry: PKPushRegistry,
        didReceiveIncomingVoIPPushWith payload: PKPushPayload,
        metadata: PKVoIPPushMetadata,
        withCompletionHandler completion: @escaping @Sendable () -> Void
    ) {
        // Also if `mustReport` is false, as it is in the foreground: the push may be the first news of the call, and the
        // system does not ring again for a call that it knows.
        take(payload.dictionaryPayload, completion)
    }
    #endif

    /// Takes a push: everything up to the report happens before this function returns.
    func take(_ dictionary: [AnyHashable: Any], _ completion: @escaping () -> Void) {
        let turn = PushTurn(completion)
        currentPush = turn
        events?(.input(.pushed(PushValue.values(of: dictionary))))
        if turn.reports == 0 { reportUnwanted(dictionary) }
        currentPush = nil
        turn.close()
    }

    /// Reports a push that nobody handles, because nobody is logged in, and ends the call at once.
    private func reportUnwanted(_ dictionary: [AnyHashable: Any]) {
        let call = CallUUID(UUID())
        let name = dictionary["fromDisplayName"] as? String ?? dictionary["callerName"] as? String
        let handle = dictionary["handle"] as? String ?? "unknown"
        reportIncoming(call, CallClient.DisplayedPeer(handle: handle, name: name, hasVideo: false))
        reportEnded(call, .failed)
    }

    /// Rings as a push of the server would, for developers who have no push key yet.
    ///
    /// The push is made here, and takes the real way from then on: it is reported in its turn, the call is fetched from the
    /// server, which knows no such call, and the call ends after some seconds as `failed`.
    ///
    /// - Parameters:
    ///   - from: the user who seems to call.
    ///   - name: the name that is shown; `nil` = the user's id.
    ///   - hasVideo: whether the call has video.
    ///   - user: the user who is called, who is logged in on this device.
    ///   - completion: called as PushKit's completion handler would be.
    public func simulateIncomingCall(
        from: String,
        name: String? = nil,
        hasVideo: Bool = false,
        to user: String,
        completion: @escaping () -> Void = {}
    ) {
        let uuid = UUID().uuidString.lowercased()
        let now = Int(Date().timeIntervalSince1970 * 1_000)
        var push: [AnyHashable: Any] = [
            "aps": ["content-available": 1], "type": "call.incoming", "callId": uuid, "epoch": 1, "fromUserId": from,
            "toUserId": user, "room": "p2p:\(from)-\(user)", "hasVideo": hasVideo, "callUUID": uuid, "handle": from,
            "callerId": from, "sentAt": now, "ringUntil": now + 45_000,
        ]
        if let name { (push["fromDisplayName"], push["callerName"]) = (name, name) }
        take(push, completion)
    }
}

/// One push: counts its reports, and calls PushKit's completion handler when the last of them is answered.
@MainActor
final class PushTurn {
    private(set) var reports = 0
    private var unanswered = 0
    private var isOpen = true
    private var completion: (() -> Void)?

    init(_ completion: @escaping () -> Void) { self.completion = completion }

    func reported() {
        reports += 1
        unanswered += 1
    }

    func answered() {
        unanswered -= 1
        finish()
    }

    /// The turn is over: no further report belongs to the push.
    func close() {
        isOpen = false
        finish()
    }

    private func finish() {
        guard !isOpen, unanswered == 0, let completion else { return }
        self.completion = nil
        completion()
    }
}
#endif
