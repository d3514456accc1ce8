/// Reads the fields of one frame, whose bytes may be anything.
///
/// Each function takes the name of its field, which an error repeats.
struct FieldReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int
    /// The version of the protocol that both sides speak.
    let version: UInt16

    init(_ bytes: ArraySlice<UInt8>, version: UInt16 = Hello.currentVersion) {
        self.bytes = bytes
        self.version = version
        position = bytes.startIndex
    }

    private var count: Int { bytes.endIndex - position }

    mutating func byte(_ field: StaticString) throws(NodeFrameError) -> UInt8 {
        guard count >= 1 else { throw NodeFrameError(field, .truncated) }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func flag(_ field: StaticString) throws(NodeFrameError) -> Bool {
        switch try byte(field) {
        case 0: return false
        case 1: return true
        default: throw NodeFrameError(field, .invalid)
        }
    }

    mutating func number<Number: FixedWidthInteger>(
        _ field: StaticString,
        as type: Number.Type = Number.self
    ) throws(NodeFrameError) -> Number {
        let width = Number.bitWidth / 8
        guard count >= width else { throw NodeFrameError(field, .truncated) }
        var value: Number = 0
        for byte in bytes[position..<position + width] { value = value << 8 | Number(truncatingIfNeeded: byte) }
        position += width
        return value
    }

    /// Reads bytes after their count, which is at most `limit`.
    mutating func data(_ field: StaticString, atMost limit: Int) throws(NodeFrameError) -> [UInt8] {
        Array(try bytes(field, atMost: limit))
    }

    /// Reads bytes after their count, which is at most `limit`; they are not copied.
    mutating func bytes(_ field: StaticString, atMost limit: Int) throws(NodeFrameError) -> ArraySlice<UInt8> {
        let length = Int(try number(field, as: UInt32.self))
        // The limit comes first: a claimed length that no frame can have is not a frame that was cut off.
        guard length <= limit else { throw NodeFrameError(field, .tooLong) }
        guard length <= count else { throw NodeFrameError(field, .truncated) }
        defer { position += length }
        return bytes[position..<position + length]
    }

    /// Reads bytes of which there must be exactly `length`.
    mutating func data(_ field: StaticString, exactly length: Int) throws(NodeFrameError) -> [UInt8] {
        let data = try data(field, atMost: length)
        guard data.count == length else { throw NodeFrameError(field, .invalid) }
        return data
    }

    mutating func text(
        _ field: StaticString,
        atMost limit: Int = NodeLimits.textBytes
    ) throws(NodeFrameError) -> String {
        guard let text = String(validating: try bytes(field, atMost: limit), as: UTF8.self) else {
            throw NodeFrameError(field, .invalid)
        }
        return text
    }

    /// Reads a text and makes a value of it; `nil` from `make` means that the text does not have the value's form.
    mutating func value<Value>(
        _ field: StaticString,
        atMost limit: Int = NodeLimits.textBytes,
        _ make: (String) -> Value?
    ) throws(NodeFrameError) -> Value {
        guard let value = make(try text(field, atMost: limit)) else { throw NodeFrameError(field, .invalid) }
        return value
    }

    mutating func optional<Value>(
        _ field: StaticString,
        _ read: (inout FieldReader) throws(NodeFrameError) -> Value
    ) throws(NodeFrameError) -> Value? {
        try flag(field) ? try read(&self) : nil
    }

    mutating func optionalText(_ field: StaticString) throws(NodeFrameError) -> String? {
        try flag(field) ? try text(field) : nil
    }

    mutating func list<Element>(
        _ field: StaticString,
        _ read: (inout FieldReader) throws(NodeFrameError) -> Element
    ) throws(NodeFrameError) -> [Element] {
        let length = Int(try number(field, as: UInt32.self))
        guard length <= NodeLimits.listCount else { throw NodeFrameError(field, .tooLong) }
        // No memory is reserved for the claimed length, which only the bytes that follow can prove.
        var list: [Element] = []
        for _ in 0..<length { list.append(try read(&self)) }
        return list
    }

    /// Checks that nothing follows.
    func end(_ field: StaticString) throws(NodeFrameError) {
        guard count == 0 else { throw NodeFrameError(field, .trailing) }
    }
}
