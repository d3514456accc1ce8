/// Writes the fields of frames.
struct FrameWriter {
    var bytes: [UInt8] = []
    /// The version of the protocol that both sides speak.
    var version = Hello.currentVersion
    /// Whether no field so far is longer than a reader accepts.
    private(set) var fits = true

    mutating func byte(_ value: UInt8) { bytes.append(value) }
    mutating func flag(_ value: Bool) { bytes.append(value ? 1 : 0) }

    mutating func number<Number: FixedWidthInteger>(_ value: Number) {
        bytes.append(addingCapacity: Number.bitWidth / 8) { output in
            for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) {
                output.append(UInt8(truncatingIfNeeded: value >> Number(truncatingIfNeeded: shift)))
            }
        }
    }

    mutating func data(_ value: some Collection<UInt8>) {
        number(UInt32(truncatingIfNeeded: value.count))
        bytes.append(contentsOf: value)
    }

    mutating func data(_ value: some Collection<UInt8>, atMost limit: Int) {
        if value.count > limit { fits = false }
        data(value)
    }

    mutating func text(_ value: String) {
        if value.utf8.count > NodeLimits.textBytes { fits = false }
        data(value.utf8)
    }

    mutating func optional<Value>(_ value: Value?, _ write: (inout FrameWriter, Value) -> Void) {
        flag(value != nil)
        if let value { write(&self, value) }
    }

    mutating func list<Element>(_ values: some Collection<Element>, _ write: (inout FrameWriter, Element) -> Void) {
        if values.count > NodeLimits.listCount { fits = false }
        number(UInt32(truncatingIfNeeded: values.count))
        for value in values { write(&self, value) }
    }
}
