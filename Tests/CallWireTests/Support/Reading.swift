import CallCore
import CallWire

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Returns the text of a frame, without its headroom.
func text(_ frame: [UInt8]) -> String { String(decoding: frame.dropFirst(Frame.headroom), as: UTF8.self) }

/// Returns the error with which a frame is refused; `nil` if it is accepted.
func refusal(_ frame: String) -> WireError? {
    do throws(ClientMessage.Refusal) {
        _ = try ClientMessage(bytes(frame), ringFor: .seconds(45))
        return nil
    } catch { return error.error }
}

func signal(_ frame: String) throws -> SignalMessage? {
    guard case .signal(let message) = try ClientMessage(bytes(frame), ringFor: .seconds(45)).request else { return nil }
    return message
}

/// Returns the error with which a request's body is refused; `nil` if it is accepted.
func bodyRefusal(_ body: String, path: CallID? = nil) -> WireError? {
    do throws(WireError) {
        _ = try SignalMessage(body: bytes(body), callIDInPath: path, ringFor: .seconds(45))
        return nil
    } catch { return error }
}

func body(_ body: String, path: CallID? = nil) throws -> SignalMessage {
    try SignalMessage(body: bytes(body), callIDInPath: path, ringFor: .seconds(45))
}

extension SignalMessage {
    var relayedText: String { String(decoding: relayed.bytes, as: UTF8.self) }
    var offer: Offer? { if case .offer(let offer) = content { offer } else { nil } }
}

/// Random numbers from a seed (SplitMix64), the same on every run.
struct Chance: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
