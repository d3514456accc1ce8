/// Writes JSON as bytes, piece by piece: what comes out is exactly what is put in, in that order.
public struct JSONWriter {
    /// What has been written, after the headroom.
    public private(set) var bytes: [UInt8]
    /// Whether a comma is due before the next member or element.
    private var needsComma = false

    /// A writer that leaves `headroom` bytes free in front, for a transport that puts its header there.
    public init(headroom: Int = 0, capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(headroom + capacity)
        // To add nothing would write a count into the storage that all empty arrays of the process share: a data race.
        guard headroom > 0 else { return }
        bytes.append(addingCapacity: headroom) { output in for _ in 0..<headroom { output.append(0) } }
    }

    /// `{`.
    public mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// `}`.
    public mutating func endObject() { close(UInt8(ascii: "}")) }
    /// `[`.
    public mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// `]`.
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    /// A member's name; its value comes next.
    ///
    /// The name is ours and needs no escape.
    public mutating func name(_ name: String) {
        plain(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A member's name that may need escapes.
    public mutating func name(escaping name: String) {
        value(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A string, escaped as far as JSON asks for it.
    public mutating func value(_ text: String) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        escaped(text)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// A string that is known to need no escape: an identifier.
    public mutating func plain(_ text: String) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// A whole number.
    public mutating func value(_ number: some FixedWidthInteger) {
        comma()
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        digits(UInt64(number.magnitude))
        needsComma = true
    }

    /// `true` or `false`.
    public mutating func value(_ flag: Bool) {
        comma()
        plainPart(flag ? "true" : "false")
        needsComma = true
    }

    /// `null`.
    public mutating func null() {
        comma()
        plainPart("null")
        needsComma = true
    }

    /// Bytes that are a JSON value, as they are.
    public mutating func raw(_ value: some Sequence<UInt8>) {
        comma()
        bytes.append(contentsOf: value)
        needsComma = true
    }

    /// Bytes that are one or more members, comma between them, as they are; none when empty.
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

    /// The quote behind a value that was written in parts.
    mutating func endString() {
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Behind a number that was written as a part.
    mutating func endNumber() { needsComma = true }

    /// Text of ours that is no value by itself: names with what stands between them.
    @inline(__always)
    mutating func part(_ text: [UInt8]) { bytes.append(contentsOf: text) }

    /// What stands between a string's quotes, where no escape is needed.
    @inline(__always)
    mutating func plainPart(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// What stands between a string's quotes, escaped as far as JSON asks for it.
    mutating func escaped(_ text: String) {
        // Most text is copied as it is.
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

    /// A number's decimal digits.
    mutating func digits(_ number: UInt64) {
        var count = 1
        var limit: UInt64 = 10
        while number >= limit, count < 20 {
            count += 1
            // 10^20 is none: at 20 digits it is over.
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
