/// The elements of one JSON array, scanned in place.
///
/// The contents of the elements are neither decoded nor copied.
public struct JSONArray: Sendable {
    /// The text that was scanned.
    public let bytes: [UInt8]
    /// The elements in their order.
    public let elements: [Element]

    /// One element: its range in the text, and its kind.
    public struct Element: Equatable, Sendable {
        /// The range of the value; a string's includes its quotes.
        public var value: Range<Int>
        /// The kind of the value.
        public var kind: JSONObject.Kind
    }

    /// Scans a part of a text that contains an array and nothing else but whitespace.
    /// - Throws: ``JSONFault`` if the part is not an array, or is nested deeper than ``JSONLimits/depth``.
    public init(_ bytes: [UInt8], in part: Range<Int>) throws(JSONFault) {
        let text = bytes.span.extracting(0..<part.upperBound)
        var scanner = JSONScanner(at: part.lowerBound)
        scanner.skipSpace(text)
        elements = try scanner.arrayElements(text)
        scanner.skipSpace(text)
        guard scanner.position == part.upperBound else { throw .syntax }
        self.bytes = bytes
    }

    /// Returns the decoded text of an element; `nil` if it is not a string or contains a lone surrogate.
    public func string(_ element: Element) -> String? {
        guard case .string = element.kind else { return nil }
        let inner = bytes[element.value.lowerBound + 1..<element.value.upperBound - 1]
        return JSONText.decoded(inner).map { String(decoding: $0, as: UTF8.self) }
    }
}
