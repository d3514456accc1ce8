/// Writes JSON as bytes, piece by piece.
///
/// The output contains exactly the given pieces, in the given order.
public struct JSONWriter {
    /// The bytes written so far, including the headroom at the front.
    public private(set) var bytes: [UInt8]
    /// Whether a comma is needed before the next member or element.
    private var needsComma = false

    /// Creates a writer that leaves `headroom` bytes free at the front, where a transport puts its header.
    public init(headroom: Int = 0, capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(headroom + capacity)
        // Appending nothing would write a count into the storage that all empty arrays of the process share: a data
        // race.
        guard headroom > 0 else { return }
        bytes.append(addingCapacity: headroom) { output in for _ in 0..<headroom { output.append(0) } }
    }

    /// Writes `{`.
    public mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// Writes `}`.
    public mutating func endObject() { close(UInt8(ascii: "}")) }
    /// Writes `[`.
    public mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// Writes `]`.
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes a member's name; its value must come next.
    ///
    /// The name is one of the server's own and needs no escape.
    public mutating func name(_ name: String) {
        plain(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a member's name that may need escapes.
    public mutating func name(escaping name: String) {
        value(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string, with the escapes that JSON requires.
    public mutating func value(_ text: String) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        escaped(text)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes a string that is known to need no escape, such as an identifier.
    public mutating func plain(_ text: String) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes a whole number.
    public mutating func value(_ number: some FixedWidthInteger) {
        comma()
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        digits(UInt64(number.magnitude))
        needsComma = true
    }

    /// Writes `true` or `false`.
    public mutating func value(_ flag: Bool) {
        comma()
        plainPart(flag ? "true" : "false")
        needsComma = true
    }

    /// Writes `null`.
    public mutating func null() {
        comma()
        plainPart("null")
        needsComma = true
    }

    /// Writes bytes that already are a JSON value, unchanged.
    public mutating func raw(_ value: some Sequence<UInt8>) {
        comma()
        bytes.append(contentsOf: value)
        needsComma = true
    }

    /// Writes bytes that already are members separated by commas, unchanged.
    ///
    /// It writes nothing if they are empty.
    public mutating func rawMembers(_ members: ArraySlice<UInt8>) {
        guard !members.isEmpty else { return }
        raw(members)
    }

    private mutating func open(_ bracket: UInt8) {
        comma()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    mutating func comma() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    // MARK: Parts, for frames that are written often

    /// Writes the closing quote of a value that was written in parts.
    mutating func endString() {
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Ends a number that was written in parts.
    mutating func endNumber() { needsComma = true }

    /// Writes fixed text that is not a complete value: names and the punctuation between them.
    @inline(__always)
    mutating func part(_ text: [UInt8]) { bytes.append(contentsOf: text) }

    /// Writes the inside of a string that needs no escape.
    @inline(__always)
    mutating func plainPart(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Writes the inside of a string, with the escapes that JSON requires.
    mutating func escaped(_ text: String) {
        // Most text needs no escape and is copied in one step.
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        guard needsEscape(from: start) else { return }
        bytes.removeLast(bytes.count - start)
        for byte in text.utf8 { escape(byte) }
    }

    private func needsEscape(from start: Int) -> Bool {
        let text = bytes.span.extracting(start...)
        for index in text.indices where !JSONScanner.isOrdinary(text[index]) { return true }
        return false
    }

    /// Writes the decimal digits of a number.
    mutating func digits(_ number: UInt64) {
        var count = 1
        var limit: UInt64 = 10
        while number >= limit, count < 20 {
            count += 1
            // 10^20 does not fit in 64 bits, and no number has more than 20 digits.
            limit = count < 20 ? limit &* 10 : .max
        }
        let start = bytes.count
        bytes.append(addingCapacity: count) { output in for _ in 0..<count { output.append(0x30) } }
        var digits = bytes.mutableSpan
        var rest = number
        var place = start + count
        while rest > 0 {
            let next = rest / 10
            place -= 1
            digits[place] = UInt8(truncatingIfNeeded: rest &- next &* 10) &+ 0x30
            rest = next
        }
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(byte)
        case 0x0A: plainPart("\\n")
        case 0x0D: plainPart("\\r")
        case 0x09: plainPart("\\t")
        case 0..<0x20:
            plainPart("\\u00")
            bytes.append(byte >> 4 + 0x30)
            let low = byte & 15
            bytes.append(low < 10 ? low + 0x30 : low + 0x57)
        default: bytes.append(byte)
        }
    }
}
