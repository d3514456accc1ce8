import CZlib

/// The gzip format (RFC 1952), written by zlib.
package enum Gzip {
    /// Returns bytes in the gzip format; `nil` if zlib has no memory.
    ///
    /// - Parameters:
    ///   - bytes: The bytes; their format is compressed in one step, so they should be a few megabytes at most.
    ///   - level: zlib's level, from 1 (fastest) to 9 (smallest).
    /// - Returns: A complete gzip member.
    package static func compress(_ bytes: [UInt8], level: Int32 = 1) -> [UInt8]? {
        var stream = z_stream()
        guard ringline_zlib_begin_gzip(&stream, level) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        let bound = Int(deflateBound(&stream, UInt(bytes.count)))
        var isComplete = false
        let output = [UInt8](unsafeUninitializedCapacity: bound) { output, count in
            bytes.withUnsafeBufferPointer { input in
                // zlib only reads the input; its struct has no const.
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(bound)
                isComplete = deflate(&stream, Z_FINISH) == Z_STREAM_END
            }
            count = bound - Int(stream.avail_out)
        }
        return isComplete ? output : nil
    }
}
