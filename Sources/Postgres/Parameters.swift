/// The object ids of types, which never change (`pg_type.dat` of the server).
enum TypeID {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let text: UInt32 = 25
    static let bools: UInt32 = 1_000
    static let byteas: UInt32 = 1_001
    static let texts: UInt32 = 1_009
    static let int8s: UInt32 = 1_016
}

/// The values of a statement's parameters, in the order of `$1`, `$2` …, in PostgreSQL's binary format.
///
/// PostgreSQL's `text` cannot contain U+0000. In a text that contains one, U+FFFD is sent instead, because an error
/// would fail the whole transaction at each attempt. A column in which U+0000 must be preserved is `bytea`.
public struct Parameters: Sendable {
    /// The bytes of all values, one after the other.
    private(set) var bytes: [UInt8] = []
    /// The offset in `bytes` at which each value begins; `nil` for NULL.
    private(set) var offsets: [Int?] = []
    private(set) var lengths: [Int32] = []
    private(set) var types: [UInt32] = []

    /// Creates an empty list.
    public init() {}

    private mutating func add(_ type: UInt32, _ write: (inout [UInt8]) -> Void) {
        let start = bytes.count
        write(&bytes)
        types.append(type)
        offsets.append(start)
        lengths.append(Int32(bytes.count - start))
    }

    private mutating func addNull(_ type: UInt32) {
        types.append(type)
        offsets.append(nil)
        lengths.append(0)
    }

    /// Adds an integer (`bigint`).
    public mutating func add(_ value: Int64) { add(TypeID.int8) { $0.append(bigEndian: value) } }

    /// Adds an integer or NULL.
    public mutating func add(_ value: Int64?) { if let value { add(value) } else { addNull(TypeID.int8) } }

    /// Adds a truth value (`boolean`).
    public mutating func add(_ value: Bool) { add(TypeID.bool) { $0.append(value ? 1 : 0) } }

    /// Adds text.
    public mutating func add(_ value: String) { add(TypeID.text) { $0.append(text: value) } }

    /// Adds text or NULL.
    public mutating func add(_ value: String?) { if let value { add(value) } else { addNull(TypeID.text) } }

    /// Adds the UTF-8 of a text as bytes (`bytea`), which may contain U+0000; NULL for `nil`.
    public mutating func add(bytesOf value: String?) {
        guard let value else { return addNull(TypeID.bytea) }
        add(TypeID.bytea) { $0.append(contentsOf: value.utf8) }
    }

    /// Adds bytes (`bytea`).
    public mutating func add(bytes: [UInt8]) { add(TypeID.bytea) { $0.append(contentsOf: bytes) } }

    /// Adds a column of integers (`bigint[]`).
    public mutating func add(_ column: Column<Int64>) { add(TypeID.int8s) { column.write(to: &$0, TypeID.int8) } }

    /// Adds a column of truth values (`boolean[]`).
    public mutating func add(_ column: Column<Bool>) { add(TypeID.bools) { column.write(to: &$0, TypeID.bool) } }

    /// Adds a column of texts (`text[]`).
    public mutating func add(_ column: Column<String>) { add(TypeID.texts) { column.write(to: &$0, TypeID.text) } }

    /// Adds a column of bytes (`bytea[]`).
    public mutating func add(_ column: Column<ArraySlice<UInt8>>) {
        add(TypeID.byteas) { column.write(to: &$0, TypeID.bytea) }
    }
}

/// The values of one column for many rows, as an array in PostgreSQL's binary format; a statement turns the arrays of
/// its columns into rows with `unnest`.
public struct Column<Value>: Sendable {
    private var elements: [UInt8] = []
    private var hasNull = false
    /// The number of values.
    public private(set) var count = 0

    /// Creates an empty column.
    public init() {}

    private mutating func append(_ write: (inout [UInt8]) -> Void) {
        count += 1
        let start = elements.count
        elements.append(bigEndian: 0 as Int32)
        write(&elements)
        let length = Int32(elements.count - start - 4)
        for (index, shift) in [24, 16, 8, 0].enumerated() {
            elements[start + index] = UInt8(truncatingIfNeeded: length >> shift)
        }
    }

    /// Appends NULL.
    public mutating func appendNull() {
        count += 1
        hasNull = true
        elements.append(bigEndian: -1 as Int32)
    }

    fileprivate func write(to bytes: inout [UInt8], _ type: UInt32) {
        bytes.append(bigEndian: (count == 0 ? 0 : 1) as Int32)
        bytes.append(bigEndian: (hasNull ? 1 : 0) as Int32)
        bytes.append(bigEndian: Int32(bitPattern: type))
        guard count > 0 else { return }
        bytes.append(bigEndian: Int32(count))
        // The index of the first element.
        bytes.append(bigEndian: 1 as Int32)
        bytes.append(contentsOf: elements)
    }
}

extension Column<Int64> {
    /// Appends an integer, or NULL for `nil`.
    public mutating func append(_ value: Int64?) {
        guard let value else { return appendNull() }
        append { $0.append(bigEndian: value) }
    }
}

extension Column<Bool> {
    /// Appends a truth value.
    public mutating func append(_ value: Bool) { append { $0.append(value ? 1 : 0) } }
}

extension Column<String> {
    /// Appends a text, or NULL for `nil`.
    public mutating func append(_ value: String?) {
        guard let value else { return appendNull() }
        append { $0.append(text: value) }
    }
}

extension Column<ArraySlice<UInt8>> {
    /// Appends bytes.
    public mutating func append(_ value: ArraySlice<UInt8>) { append { $0.append(contentsOf: value) } }

    /// Appends the UTF-8 of a text, or NULL for `nil`.
    public mutating func append(bytesOf value: String?) {
        guard let value else { return appendNull() }
        append { $0.append(contentsOf: value.utf8) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
        var shift = value.bitWidth
        while shift > 0 {
            shift -= 8
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    fileprivate mutating func append(text: String) {
        guard text.utf8.contains(0) else { return append(contentsOf: text.utf8) }
        for byte in text.utf8 { if byte == 0 { append(contentsOf: "\u{FFFD}".utf8) } else { append(byte) } }
    }
}
