#if canImport(CallKit) && !os(macOS)
import CallClient
import CallCore
import CallKit
import Foundation
public import PushKit
import RinglineKit

/// The pushes and the token of PushKit.
extension CallKitSystem: @MainActor PKPushRegistryDelegate {
    /// PushKit has issued a token: the kit uploads it to the server.
    public func pushRegistry(
        _ registry: PKPushRegistry,
        didUpdate pushCredentials: PKPushCredentials,
        for type: PKPushType
    ) {
        if type == .voIP { tellAll(.voipToken(Self.hex(pushCredentials.token))) }
    }

    /// PushKit has invalidated the token: the kit removes it from the server.
    public func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) {
        if type == .voIP { tellAll(.voipToken(nil)) }
    }

    /// A push has arrived: it is reported before this method returns.
    public func pushRegistry(
        _ registry: PKPushRegistry,
        didReceiveIncomingPushWith payload: PKPushPayload,
        for type: PKPushType,
        completion: @escaping () -> Void
    ) {
        take(payload.dictionaryPayload, completion)
    }

    #if compiler(>=6.3)
    /// A push has arrived, on iOS 26.4 or later: it is reported before this method returns, whatever the metadata say.
    @available(iOS 26.4, macCatalyst 26.4, visionOS 26.4, watchOS 26.4, *)
    public func pushRegistry(
        _ registry: PKPushRegistry,
        didReceiveIncomingVoIPPushWith payload: PKPushPayload,
        metadata: PKVoIPPushMetadata,
        withCompletionHandler completion: @escaping @Sendable () -> Void
    ) {
        // Also if `mustReport` is false, as it is in the foreground: the app may not know the call yet, and the system does
        // not ring again for a call that it knows.
        take(payload.dictionaryPayload, completion)
    }
    #endif

    /// Takes a push, and reports it before this function returns.
    func take(_ dictionary: [AnyHashable: Any], _ completion: @escaping () -> Void) {
        let turn = PushTurn(completion)
        currentPush = turn
        let push = PushValue.values(of: dictionary)
        account(forPush: dictionary)?.events?(.input(.pushed(push)))
        if turn.reports == 0 { reportUnwanted(push) }
        currentPush = nil
        turn.close()
    }

    /// Reports a push that came while nobody is logged in, ends the call at once, and tells the server.
    ///
    /// The report names nobody, because the calls of a user who has logged out are not for whoever holds the device.
    private func reportUnwanted(_ push: [String: PushValue]) {
        let call = CallUUID(UUID())
        reportIncoming(call, CallClient.DisplayedPeer(handle: "unknown", name: nil, hasVideo: false))
        reportEnded(call, .failed)
        guard let server = configuration.server, let request = SignalingRequest(declining: push, at: server) else {
            return
        }
        requests.send(request) { _ in }
    }

    /// Rings as for a push from the server, for developers who have no key for APNs yet.
    ///
    /// The adapter makes the push itself, and handles it like one from PushKit: it reports the call before this function
    /// returns, and the kit fetches the call from the server. The server knows no such call, so the call ends as `failed`
    /// within a minute, also if the user answers it.
    ///
    /// ```swift
    /// system.simulateIncomingCall(from: "11", name: "Taro", to: "10")
    /// system.simulateIncomingCall(from: "wake", name: "Wake-up", to: "10", scheduled: true, data: #"{"voice":"a"}"#)
    /// ```
    ///
    /// - Parameters:
    ///   - from: the id of the user who seems to call.
    ///   - name: the name that CallKit shows; `nil` = the id of the user who seems to call.
    ///   - hasVideo: whether the call has video.
    ///   - user: the id of the user who is logged in on this device.
    ///   - scheduled: whether it rings as a call of a schedule, by the server itself. The answer is then fulfilled at
    ///     once, and the app plays its sound.
    ///   - data: the data of the schedule, one JSON value as text; `nil` = none.
    ///   - completion: called like PushKit's completion handler, when CallKit has answered the report.
    public func simulateIncomingCall(
        from: String,
        name: String? = nil,
        hasVideo: Bool = false,
        to user: String,
        scheduled: Bool = false,
        data: String? = nil,
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
        if scheduled {
            push["scheduled"] = true
            push["data"] = data.flatMap {
                // A text that is no JSON is left out, as a server would refuse it.
                try? JSONSerialization.jsonObject(with: Data($0.utf8), options: .fragmentsAllowed)
            }
        }
        take(push, completion)
    }
}

/// The handling of one push: counts its reports, and calls PushKit's completion handler when CallKit has answered the last.
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

    /// The push has been handled: no further report belongs to it.
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
