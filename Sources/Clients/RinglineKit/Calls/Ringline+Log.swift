import CallClient
import CallCore

/// The lines of ``Ringline/onLog``.
///
/// A text is made only if somebody reads it. None contains a token, a capability, a description, or data of the app.
extension Ringline {
    func log(_ text: @autoclosure () -> String) { onLog?(text()) }

    func logInput(_ input: CallClient.Input) {
        switch input {
        case .pushed(let push): log("push\(Self.parts(of: push))")
        case .reportFailed(let call, let why): log("the system does not show \(call.text): \(why.rawValue)")
        case .reportSucceeded(let call): log("the system shows \(call.text)")
        default: break
        }
    }

    func logOutput(_ output: CallClient.Output) {
        switch output {
        case .reportIncoming(let call, let peer): log("report \(call.text): a call from \(peer.handle)")
        case .reportRepeated(let call, _): log("report \(call.text) again")
        case .reportEnded(let call, let end): log("report \(call.text): ended, \(end.rawValue)")
        case .refused(let call, let refusal): log("refused \(call.text): \(refusal)")
        case .send(let signal): log("send \(signal.kind.rawValue) of \(signal.callID.text) to \(signal.peer.text)")
        default: break
        }
    }

    private static func parts(of push: [String: PushValue]) -> String {
        ["type", "callId", "epoch", "fromUserId", "toUserId"].map { name in
            switch push[name] {
            case .string(let text)?: " \(name)=\(text)"
            case .int(let number)?: " \(name)=\(number)"
            default: ""
            }
        }.joined()
    }
}

extension SocketClosure {
    /// The closure in words.
    var summary: String {
        if let status { return "the server responded \(status)" }
        guard let code else { return reason.isEmpty ? "no close frame" : reason }
        return reason.isEmpty ? "\(code)" : "\(code) \(reason)"
    }
}
