package import CallClient
import CallCore
package import Foundation

extension SignalingRequest {
    /// The request that tells a server of a push for a user who is not signed in, while no kit can send it; `nil` = the push
    /// names no call, or has no capability for it.
    ///
    /// The capability says which device it is.
    package init?(declining dictionary: [String: PushValue], at server: URL) {
        // For whom the push is read decides only about its caller.
        guard let nobody = UserID("-") else { return nil }
        let push = IncomingPush(dictionary, for: nobody)
        guard push.isIncomingCall, let callID = push.callID, let capability = push.capability else { return nil }
        var body: [String: Any] = [
            "action": "ringing", "callId": callID.text, "id": UUID().uuidString.lowercased(),
            "data": ["shown": false, "why": Silence.otherUser.rawValue] as [String: Any],
        ]
        if let epoch = push.epoch { body["epoch"] = Int(epoch) }
        // The object is made of texts, a number and a Boolean, which JSON can hold.
        guard let json = try? JSONSerialization.data(withJSONObject: body) else { return nil }
        self.init(
            method: "POST",
            url: server.baseOfPaths + "/api/calls/signal",
            body: Array(json),
            authorization: "Ring \(capability)"
        )
    }
}

extension URL {
    /// The address without a slash at its end.
    var baseOfPaths: String {
        absoluteString.hasSuffix("/") ? String(absoluteString.dropLast()) : absoluteString
    }
}
