import CallCore

extension CallClient {
    /// The kinds of addresses that the system tells apart (`CXHandle.HandleType`).
    public enum HandleType: String, Sendable, CaseIterable {
        /// A user id, or any other text.
        case generic
        /// A phone number.
        case phoneNumber
        /// A mail address.
        case emailAddress

        /// Returns the normal form of an address, for sending and comparing.
        ///
        /// A phone number keeps its digits and, if the country code comes first, a `+` before them: `+82 10-1234-5678`,
        /// `0082 (0)10 1234 5678` and `tel:+82-10-1234-5678;ext=5` become `+821012345678`. The server compares blocked
        /// numbers by the same rule (`WrittenNumber`). A text that is no number, and any other address, only loses the
        /// blanks around it.
        public func normalized(_ address: String) -> String {
            guard self == .phoneNumber, let number = WrittenNumber(address), !number.digits.isEmpty else {
                return Self.trimmed(address)
            }
            return (number.isInternational ? "+" : "") + String(decoding: number.digits, as: UTF8.self)
        }

        private static func trimmed(_ text: String) -> String {
            var scalars = text.unicodeScalars[...]
            while let first = scalars.first, WrittenNumber.isBlank(first) { scalars.removeFirst() }
            while let last = scalars.last, WrittenNumber.isBlank(last) { scalars.removeLast() }
            return String(scalars)
        }
    }
}
