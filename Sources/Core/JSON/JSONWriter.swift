/// Writes JSON as bytes, piece by piece.
///
/// The output contains exactly the given pieces, in the given order.
public struct JSONWriter {
    @usableFromInline var output: [UInt8]
    /// Whether a comma is needed before the next member or element.
    @usableFromInline var needsComma: Bool

    /// The bytes written so far, including the headroom at the front.
    @inlinable public var bytes: [UInt8] { output }

    /// Creates a writer that leaves `headroom` bytes free at the front, where a transport puts its header.
    ///
    /// The initialiser is inlinable because the headroom is a constant where frames are written. The compiler then
    /// needs no loop to write the zeros.
    @inlinable
    public init(headroom: Int = 0, capacity: Int = 256) {
        output = []
        needsComma = false
        output.reserveCapacity(headroom + capacity)
        // Appending nothing would write a count into the storage that all empty arrays of the process share: a data
        // race.
        guard headroom > 0 else { return }
        output.append(addingCapacity: headroom) { part in for _ in 0..<headroom { part.append(0) } }
    }

    /// Creates a writer that has written these bytes already, the headroom included, with room for `capacity` more.
    ///
    /// No comma is written before the next member.
    @inlinable
    public init(beginning: [UInt8], capacity: Int) {
        output = []
        needsComma = false
        output.reserveCapacity(beginning.count + capacity)
        output.append(contentsOf: beginning)
    }

    /// Writes `{`.
    @inlinable public mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// Writes `}`.
    @inlinable public mutating func endObject() { close(UInt8(ascii: "}")) }
    /// Writes `[`.
    @inlinable public mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// Writes `]`.
    @inlinable public mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes an array; `write` writes each of the values as one JSON value.
    @inlinable
    public mutating func array<Value>(_ values: some Sequence<Value>, _ write: (Value, inout JSONWriter) -> Void) {
        beginArray()
        for value in values { write(value, &self) }
        endArray()
    }

    /// Writes a member's name; its value must come next.
    ///
    /// The name must need no escape.
    public mutating func name(_ name: String) {
        plain(name)
        output.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a member's name that may need escapes.
    public mutating func name(escaping name: String) {
        value(name)
        output.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string, with the escapes that JSON requires.
    public mutating func value(_ text: String) {
        comma()
        output.append(UInt8(ascii: "\""))
        escaped(text)
        output.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes a string that is known to need no escape, such as an identifier.
    public mutating func plain(_ text: String) {
        comma()
        output.append(UInt8(ascii: "\""))
        output.append(contentsOf: text.utf8)
        output.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes a string of 24 bytes that needs no escape, given as three words; the first byte is the lowest one of the
    /// first word.
    public mutating func plain(_ words: (UInt64, UInt64, UInt64)) {
        comma()
        output.append(addingCapacity: 26) { part in
            part.append(UInt8(ascii: "\""))
            Digits.write(words.0, count: 8, into: &part)
            Digits.write(words.1, count: 8, into: &part)
            Digits.write(words.2, count: 8, into: &part)
            part.append(UInt8(ascii: "\""))
        }
        needsComma = true
    }

    /// Writes a whole number.
    @inlinable
    public mutating func value(_ number: some FixedWidthInteger) {
        comma()
        if number < 0 { output.append(UInt8(ascii: "-")) }
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
    @inlinable
    public mutating func raw(_ value: some Sequence<UInt8>) {
        comma()
        output.append(contentsOf: value)
        needsComma = true
    }

    /// Writes bytes that already are members separated by commas, unchanged.
    ///
    /// If there are no bytes, nothing is written.
    public mutating func rawMembers(_ members: ArraySlice<UInt8>) {
        guard !members.isEmpty else { return }
        raw(members)
    }

    @inlinable
    mutating func open(_ bracket: UInt8) {
        comma()
        output.append(bracket)
        needsComma = false
    }

    @inlinable
    mutating func close(_ bracket: UInt8) {
        output.append(bracket)
        needsComma = true
    }

    /// Writes a comma if one is needed before the next member or element.
    @inlinable
    public mutating func comma() {
        if needsComma { output.append(UInt8(ascii: ",")) }
    }

    // MARK: Parts, for frames that are written often

    /// Writes the closing quote of a value that was written in parts.
    @inlinable
    public mutating func endString() {
        output.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Ends a number that was written in parts.
    @inlinable
    public mutating func endNumber() { needsComma = true }

    /// Writes fixed text that is not a complete value: names and the punctuation between them.
    @inlinable @inline(__always)
    public mutating func part(_ text: [UInt8]) { output.append(contentsOf: text) }

    /// Writes the inside of a string that needs no escape.
    @inlinable @inline(__always)
    public mutating func plainPart(_ text: String) { output.append(contentsOf: text.utf8) }

    /// Writes the inside of a string, with the escapes that JSON requires.
    public mutating func escaped(_ text: String) {
        // Most text needs no escape and is copied in one step.
        let start = output.count
        output.append(contentsOf: text.utf8)
        guard needsEscape(from: start) else { return }
        output.removeLast(output.count - start)
        for byte in text.utf8 { escape(byte) }
    }

    private func needsEscape(from start: Int) -> Bool {
        var rest = output.span.extracting(droppingFirst: start)
        while rest.count >= 8 {
            guard TextWord(rest).specials == 0 else { return true }
            rest = rest.extracting(droppingFirst: 8)
        }
        // The zeros behind the end of the text look like control characters. A flag of the text itself is exact if it
        // is the lowest one.
        return !rest.isEmpty && TextWord.index(ofLowest: TextWord(rest).specials) < rest.count
    }

    /// Writes the decimal digits of a number.
    public mutating func digits(_ number: UInt64) {
        guard let digits = Digits(number) else { return manyDigits(number) }
        output.append(addingCapacity: digits.count) { part in digits.write(into: &part) }
    }

    /// Writes the decimal digits of two numbers and, between them, a text of up to eight bytes, given as the bits of a
    /// ``TextWord``.
    public mutating func digits(_ first: UInt64, _ separator: UInt64, count: Int, _ second: UInt64) {
        guard let one = Digits(first), let other = Digits(second) else {
            manyDigits(first)
            for index in 0..<count { output.append(UInt8(truncatingIfNeeded: separator &>> UInt64(8 &* index))) }
            manyDigits(second)
            return
        }
        output.append(addingCapacity: one.count &+ count &+ other.count) { part in
            one.write(into: &part)
            Digits.write(separator, count: count, into: &part)
            other.write(into: &part)
        }
    }

    private mutating func manyDigits(_ number: UInt64) { output.append(contentsOf: String(number).utf8) }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            output.append(UInt8(ascii: "\\"))
            output.append(byte)
        case 0x0A: plainPart("\\n")
        case 0x0D: plainPart("\\r")
        case 0x09: plainPart("\\t")
        case 0..<0x20:
            plainPart("\\u00")
            output.append(byte >> 4 + 0x30)
            let low = byte & 15
            output.append(low < 10 ? low + 0x30 : low + 0x57)
        default: output.append(byte)
        }
    }
}
