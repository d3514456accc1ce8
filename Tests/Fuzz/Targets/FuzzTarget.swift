import Foundation

/// A parser of untrusted bytes, and the properties that must hold for every input.
public protocol FuzzTarget {
    /// Creates a target that is ready for inputs.
    init() throws

    /// Handles one input; traps if a property does not hold.
    func take(_ bytes: [UInt8]) throws
}

/// The targets by the names of their corpora.
///
/// The dictionary is safe in spite of `nonisolated(unsafe)`, because types have no state that could change.
nonisolated(unsafe) public let fuzzTargets: [String: any FuzzTarget.Type] = [
    "frames": FrameTarget.self,
    "sdp": SDPTarget.self,
    "tokens": TokenTarget.self,
    "engine": EngineTarget.self,
    "heads": HeadTarget.self,
    "rows": RowTarget.self,
]

// The only thread of libFuzzer sets this variable once, before the first input.
nonisolated(unsafe) private var chosen: (any FuzzTarget)?

/// Creates the target that `RINGLINE_FUZZ_TARGET` names.
@_cdecl("ringline_fuzz_begin")
public func fuzzBegin() {
    let name = ProcessInfo.processInfo.environment["RINGLINE_FUZZ_TARGET"] ?? ""
    guard let type = fuzzTargets[name] else { fatalError("RINGLINE_FUZZ_TARGET: one of \(fuzzTargets.keys.sorted())") }
    do { chosen = try type.init() } catch { fatalError("\(name): \(error)") }
}

/// Hands one input of libFuzzer to the target.
@_cdecl("ringline_fuzz")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) {
    do { try chosen?.take(Array(UnsafeBufferPointer(start: bytes, count: count))) } catch { fatalError("\(error)") }
}

/// Traps unless a condition holds, in release builds too.
func expect(_ holds: Bool, _ message: @autoclosure () -> String) {
    if !holds { fatalError(message()) }
}
