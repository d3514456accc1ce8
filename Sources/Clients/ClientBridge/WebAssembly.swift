#if arch(wasm32)
import CallClient
import CallCore

// The functions of the WebAssembly module `ringline.wasm`. An instance of the module holds one client core and the state
// machine of its connection, because JavaScript frees the memory of a whole instance, and of nothing smaller.
//
// A caller writes a text to an address from `core_allocate`, and hands in the address and the size. It reads a result where
// `core_result_address` and `core_result_size` say; the result is valid until the next call of another function.

nonisolated(unsafe) private var client: BridgedClient?
nonisolated(unsafe) private var reconnection = BridgedReconnection()
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
    guard let now = moment(now) else { return fail("the moment is out of range") }
    do throws(BridgeFault) {
        let input = Array(UnsafeBufferPointer(start: text, count: size))
        guard let outputs = try client?.handle(input, at: now) else { return fail("there is no client core") }
        result = outputs
        return 1
    } catch {
        return fail(error.line)
    }
}

/// Returns a moment; `nil` for one that is no number or far from the present, which would trap.
private func moment(_ milliseconds: Double) -> Moment? {
    milliseconds > -1e15 && milliseconds < 1e15 ? Moment(milliseconds: Int64(milliseconds)) : nil
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

/// Takes an input of the connection's machine at a moment, in milliseconds since 1970; returns 1 if the result is the
/// outputs, or 0 if it is the message of a fault.
@_expose(wasm, "reconnection_handle") @_cdecl("reconnection_handle")
public func reconnectionHandle(_ text: UnsafePointer<UInt8>, _ size: Int, _ now: Double) -> Int32 {
    guard let now = moment(now) else { return fail("the moment is out of range") }
    do throws(BridgeFault) {
        result = try reconnection.handle(Array(UnsafeBufferPointer(start: text, count: size)), at: now)
        return 1
    } catch {
        return fail(error.line)
    }
}

/// Returns the deadline of the connection's machine in milliseconds since 1970; NaN while it waits for nothing.
@_expose(wasm, "reconnection_deadline") @_cdecl("reconnection_deadline")
public func reconnectionDeadline() -> Double {
    reconnection.reconnection.deadline.map { Double($0.milliseconds) } ?? .nan
}

/// Makes the state of the connection's machine the result.
@_expose(wasm, "reconnection_state") @_cdecl("reconnection_state")
public func reconnectionState() { result = reconnection.state }

/// Returns the address of the result.
@_expose(wasm, "core_result_address") @_cdecl("core_result_address")
public func coreResultAddress() -> UnsafeRawPointer? {
    result.withUnsafeBytes { $0.baseAddress }
}

/// Returns the number of bytes of the result.
@_expose(wasm, "core_result_size") @_cdecl("core_result_size")
public func coreResultSize() -> Int { result.count }
#endif
