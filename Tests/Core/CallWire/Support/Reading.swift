import CallCore
import CallWire

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Returns the text of a frame, without its headroom.
func text(_ frame: [UInt8]) -> String { String(decoding: frame.dropFirst(Frame.headroom), as: UTF8.self) }

/// Returns the error with which a frame is refused; `nil` if it is accepted.
func refusal(_ frame: String) -> WireError? {
    do throws(ClientMessage.Refusal) {
        _ = try ClientMessage(bytes(frame), ringTimeout: .seconds(45))
        return nil
    } catch { return error.error }
}

func signal(_ frame: String) throws -> SignalMessage? {
    guard case .signal(let message) = try ClientMessage(bytes(frame), ringTimeout: .seconds(45)).takeRequest() else {
        return nil
    }
    return message
}

/// Returns the error with which a request's body is refused; `nil` if it is accepted.
func bodyRefusal(_ body: String, path: CallID? = nil) -> WireError? {
    do throws(WireError) {
        _ = try SignalMessage(body: bytes(body), callIDInPath: path, ringTimeout: .seconds(45))
        return nil
    } catch { return error }
}

func body(_ body: String, path: CallID? = nil) throws -> SignalMessage {
    try SignalMessage(body: bytes(body), callIDInPath: path, ringTimeout: .seconds(45))
}

extension SignalMessage {
    var relayedText: String { String(decoding: relayed.bytes, as: UTF8.self) }
    var offer: Offer? { if case .offer(let offer) = content { offer } else { nil } }
}
