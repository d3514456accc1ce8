import Glibc

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
package struct Parameters: Sendable {
    /// The bytes of all values, one after the other.
    private(set) var bytes: [UInt8] = []
    /// The offset in `bytes` at which each value begins; `nil` for NULL.
    private(set) var offsets: [Int?] = []
    private(set) var lengths: [Int32] = []
    private(set) var types: [UInt32] = []

    /// Creates an empty list.
    package init() {}

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
    package mutating func add(_ value: Int64) { add(TypeID.int8) { $0.append(bigEndian: value) } }

    /// Adds an integer or NULL.
    package mutating func add(_ value: Int64?) { if let value { add(value) } else { addNull(TypeID.int8) } }

    /// Adds a truth value (`boolean`).
    package mutating func add(_ value: Bool) { add(TypeID.bool) { $0.append(value ? 1 : 0) } }

    /// Adds text.
    package mutating func add(_ value: String) {
        var text = value
        text.replaceNULs()
        add(TypeID.text) { $0.append(contentsOf: text.utf8) }
    }

    /// Adds text or NULL.
    package mutating func add(_ value: String?) { if let value { add(value) } else { addNull(TypeID.text) } }

    /// Adds the UTF-8 of a text as bytes (`bytea`), which may contain U+0000; NULL for `nil`.
    package mutating func add(bytesOf value: String?) {
        guard let value else { return addNull(TypeID.bytea) }
        add(TypeID.bytea) { $0.append(contentsOf: value.utf8) }
    }

    /// Adds bytes (`bytea`).
    package mutating func add(bytes: [UInt8]) { add(TypeID.bytea) { $0.append(contentsOf: bytes) } }

    /// Adds a column of integers (`bigint[]`).
    package mutating func add(_ column: Column<Int64>) { add(TypeID.int8s) { column.write(to: &$0, TypeID.int8) } }

    /// Adds a column of truth values (`boolean[]`).
    package mutating func add(_ column: Column<Bool>) { add(TypeID.bools) { column.write(to: &$0, TypeID.bool) } }

    /// Adds a column of texts (`text[]`).
    package mutating func add(_ column: Column<String>) { add(TypeID.texts) { column.write(to: &$0, TypeID.text) } }

    /// Adds a column of bytes (`bytea[]`).
    package mutating func add(_ column: Column<ArraySlice<UInt8>>) {
        add(TypeID.byteas) { column.write(to: &$0, TypeID.bytea) }
    }
}

/// The values of one column for many rows, as an array in PostgreSQL's binary format; a statement turns the arrays of
/// its columns into rows with `unnest`.
package struct Column<Value>: Sendable {
    fileprivate var elements: [UInt8] = []
    private var hasNull = false
    /// The number of values.
    package fileprivate(set) var count = 0

    /// Creates an empty column.
    package init() {}

    /// Appends the length of a value whose bytes follow.
    fileprivate mutating func begin(byteCount: Int) {
        count += 1
        elements.append(bigEndian: Int32(byteCount))
    }

    /// Appends NULL.
    package mutating func appendNull() {
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
    package mutating func append(_ value: Int64?) {
        guard let value else { return appendNull() }
        // The length and the value in one step: most columns of most rows are integers.
        let element = (
            Int32(8).bigEndian, Int32(truncatingIfNeeded: value >> 32).bigEndian,
            Int32(truncatingIfNeeded: value).bigEndian
        )
        count += 1
        withUnsafeBytes(of: element) { elements.append(contentsOf: $0) }
    }
}

extension Column<Bool> {
    /// Appends a truth value.
    package mutating func append(_ value: Bool) {
        begin(byteCount: 1)
        elements.append(value ? 1 : 0)
    }
}

extension Column<String> {
    /// Appends a text, or NULL for `nil`.
    package mutating func append(_ value: String?) {
        guard var value else { return appendNull() }
        value.replaceNULs()
        begin(byteCount: value.utf8.count)
        elements.append(contentsOf: value.utf8)
    }
}

extension Column<ArraySlice<UInt8>> {
    /// Appends bytes.
    package mutating func append(_ value: ArraySlice<UInt8>) {
        begin(byteCount: value.count)
        elements.append(contentsOf: value)
    }

    /// Appends the UTF-8 of a text, or NULL for `nil`.
    package mutating func append(bytesOf value: String?) {
        guard let value else { return appendNull() }
        begin(byteCount: value.utf8.count)
        elements.append(contentsOf: value.utf8)
    }
}

extension [UInt8] {
    fileprivate mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}

extension String {
    /// Replaces U+0000, which `text` cannot contain, by U+FFFD.
    fileprivate mutating func replaceNULs() {
        let containsNUL = utf8.withContiguousStorageIfAvailable { bytes in
            bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
        }
        guard containsNUL ?? utf8.contains(0) else { return }
        self = String(String.UnicodeScalarView(unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }))
    }
}
