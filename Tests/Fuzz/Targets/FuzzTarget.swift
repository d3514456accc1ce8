import Foundation

/// A reader of bytes that strangers send, and what must hold of it whatever they are.
public protocol FuzzTarget {
    /// A target ready to take inputs.
    init() throws

    /// Takes one input; traps when something does not hold.
    func take(_ bytes: [UInt8]) throws
}

/// The targets by the names of their corpora.
///
/// Unsafe by name only: types hold nothing that could change.
nonisolated(unsafe) public let fuzzTargets: [String: any FuzzTarget.Type] = [
    "frames": FrameTarget.self,
    "sdp": SDPTarget.self,
    "tokens": TokenTarget.self,
    "engine": EngineTarget.self,
    "heads": HeadTarget.self,
    "rows": RowTarget.self,
]

// Set once, before the first input, by the one thread that libFuzzer has.
nonisolated(unsafe) private var chosen: (any FuzzTarget)?

/// Makes the target that `RINGLINE_FUZZ_TARGET` names.
@_cdecl("ringline_fuzz_begin")
public func fuzzBegin() {
    let name = ProcessInfo.processInfo.environment["RINGLINE_FUZZ_TARGET"] ?? ""
    guard let type = fuzzTargets[name] else { fatalError("RINGLINE_FUZZ_TARGET: one of \(fuzzTargets.keys.sorted())") }
    do { chosen = try type.init() } catch { fatalError("\(name): \(error)") }
}

/// Takes one input of libFuzzer's.
@_cdecl("ringline_fuzz")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) {
    do { try chosen?.take(Array(UnsafeBufferPointer(start: bytes, count: count))) } catch { fatalError("\(error)") }
}

/// Traps unless something holds, in release builds too.
func expect(_ holds: Bool, _ message: @autoclosure () -> String) {
    if !holds { fatalError(message()) }
}
