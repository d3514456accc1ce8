#if arch(wasm32)
import CallClient
import CallCore

// The functions of the WebAssembly module `ringline.wasm`. An instance of the module holds one client core, because
// JavaScript frees the memory of a whole instance, and of nothing smaller.
//
// A caller writes a text to an address from `core_allocate`, and hands in the address and the size. It reads a result where
// `core_result_address` and `core_result_size` say; the result is valid until the next call of another function.

nonisolated(unsafe) private var client: BridgedClient?
nonisolated(unsafe) private var result: [UInt8] = []

/// Returns the address of new memory for a text of this many bytes.
@_expose(wasm, "core_allocate") @_cdecl("core_allocate")
public func coreAllocate(_ size: Int) -> UnsafeMutableRawPointer {
    UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 1)
}

/// Frees memory of `core_allocate`.
@_expose(wasm, "core_free") @_cdecl("core_free")
public func coreFree(_ text: UnsafeMutableRawPointer) { text.deallocate() }

/// Creates the core from its configuration; returns 1, or 0 if the result is the message of a fault.
@_expose(wasm, "core_create") @_cdecl("core_create")
public func coreCreate(_ text: UnsafePointer<UInt8>, _ size: Int) -> Int32 {
    do throws(BridgeFault) {
        client = try BridgedClient(configuration: Array(UnsafeBufferPointer(start: text, count: size)))
        return 1
    } catch {
        result = Array(error.line.utf8)
        return 0
    }
}

/// Takes an input at a moment, in milliseconds since 1970; returns 1 if the result is the outputs, or 0 if it is the
/// message of a fault.
@_expose(wasm, "core_handle") @_cdecl("core_handle")
public func coreHandle(_ text: UnsafePointer<UInt8>, _ size: Int, _ now: Double) -> Int32 {
    // A moment that is no number, or far from the present, would trap.
    guard now > -1e15, now < 1e15 else { return fail("the moment is out of range") }
    do throws(BridgeFault) {
        let input = Array(UnsafeBufferPointer(start: text, count: size))
        guard let outputs = try client?.handle(input, at: Moment(milliseconds: Int64(now))) else {
            return fail("there is no client core")
        }
        result = outputs
        return 1
    } catch {
        return fail(error.line)
    }
}

private func fail(_ message: String) -> Int32 {
    result = Array(message.utf8)
    return 0
}

/// Returns the core's deadline in milliseconds since 1970; NaN while the core waits for nothing.
@_expose(wasm, "core_deadline") @_cdecl("core_deadline")
public func coreDeadline() -> Double { client?.client.deadline.map { Double($0.milliseconds) } ?? .nan }

/// Makes the core's state the result.
@_expose(wasm, "core_state") @_cdecl("core_state")
public func coreState() { result = client?.state ?? [] }

/// Returns the address of the result.
@_expose(wasm, "core_result_address") @_cdecl("core_result_address")
public func coreResultAddress() -> UnsafeRawPointer? {
    result.withUnsafeBytes { $0.baseAddress }
}

/// Returns the number of bytes of the result.
@_expose(wasm, "core_result_size") @_cdecl("core_result_size")
public func coreResultSize() -> Int { result.count }
#endif
