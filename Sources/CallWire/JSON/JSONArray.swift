/// The elements of one JSON array, found and checked in place; what is in them is neither decoded nor copied.
public struct JSONArray: Sendable {
    /// The text that was scanned.
    public let bytes: [UInt8]
    /// The elements in their order.
    public let elements: [Element]

    /// One element: where it stands, and what it is.
    public struct Element: Equatable, Sendable {
        /// The value's bytes; a string's include its quotes.
        public var value: Range<Int>
        /// What the value is.
        public var kind: JSONObject.Kind
    }

    /// Scans the array that stands in a part of a text, with nothing but blanks around it.
    /// - Throws: ``JSONFault`` when it is none, or is nested deeper than ``WireLimits/depth``.
    public init(_ bytes: [UInt8], in part: Range<Int>) throws(JSONFault) {
        let text = bytes.span
        var scanner = JSONScanner(at: part.lowerBound, end: part.upperBound)
        scanner.skipSpace(text)
        elements = try scanner.arrayElements(text)
        scanner.skipSpace(text)
        guard scanner.position == part.upperBound else { throw .syntax }
        self.bytes = bytes
    }

    /// The text of an element that is a string, decoded; `nil` when it is none or holds a lone surrogate.
    public func string(_ element: Element) -> String? {
        guard case .string = element.kind else { return nil }
        let inner = bytes[element.value.lowerBound + 1..<element.value.upperBound - 1]
        return JSONText.decoded(inner).map { String(decoding: $0, as: UTF8.self) }
    }
}
