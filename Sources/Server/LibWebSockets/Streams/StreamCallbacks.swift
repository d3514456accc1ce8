internal import CLibwebsockets

// libuv's callbacks for streams: each finds its object and calls one of its methods. The object may be released within
// that method, so it is retained meanwhile. A closed handle has no object.

private func object<Object: AnyObject>(_ data: UnsafeMutableRawPointer?, _ type: Object.Type) -> Object? {
    data.map { Unmanaged<Object>.fromOpaque($0).takeUnretainedValue() }
}

@c
func clwsStreamAllocates(
    _ handle: UnsafeMutablePointer<uv_handle_t>?,
    _ suggested: Int,
    _ buffer: UnsafeMutablePointer<uv_buf_t>?
) {
    guard let stream = object(handle?.pointee.data, TCPStream.self) else { return }
    buffer?.pointee = uv_buf_t(UnsafeRawBufferPointer(stream.readBuffer))
}

@c
func clwsStreamRead(
    _ handle: UnsafeMutablePointer<uv_stream_t>?,
    _ count: Int,
    _ buffer: UnsafePointer<uv_buf_t>?
) {
    object(handle?.pointee.data, TCPStream.self)?.didRead(count, buffer?.pointee.base)
}

@c
func clwsStreamWritten(_ request: UnsafeMutablePointer<uv_write_t>?, _ status: Int32) {
    guard let request else { return }
    let stream = object(request.pointee.handle.pointee.data, TCPStream.self)
    request.pointee.data.deallocate()
    request.deallocate()
    stream?.didWrite(status)
}

@c
func clwsStreamShutDown(_ request: UnsafeMutablePointer<uv_shutdown_t>?, _ status: Int32) {
    request?.deallocate()
}

@c
func clwsStreamConnected(_ request: UnsafeMutablePointer<uv_connect_t>?, _ status: Int32) {
    guard let request, let handle = request.pointee.handle else { return }
    request.deallocate()
    let tcp = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_tcp_t.self)
    object(handle.pointee.data, TCPConnectionAttempt.self)?.connected(tcp, status)
}

@c
func clwsStreamArrived(_ handle: UnsafeMutablePointer<uv_stream_t>?, _ status: Int32) {
    // After a failure, such as a lack of descriptors, libuv has closed the connection itself.
    guard status == 0 else { return }
    object(handle?.pointee.data, StreamListener.self)?.accept()
}

@c
func clwsLoopTimer(_ handle: UnsafeMutablePointer<uv_timer_t>?) {
    object(handle?.pointee.data, LoopTimer.self)?.fire()
}

extension uv_buf_t {
    /// A buffer of these bytes.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init()
        base = bytes.baseAddress.map { UnsafeMutablePointer(mutating: $0.assumingMemoryBound(to: CChar.self)) }
        len = bytes.count
    }
}

extension UnsafeMutablePointer<uv_tcp_t> {
    /// The same handle, for libuv's functions that take any kind of stream.
    var stream: UnsafeMutablePointer<uv_stream_t> {
        UnsafeMutableRawPointer(self).assumingMemoryBound(to: uv_stream_t.self)
    }
}
