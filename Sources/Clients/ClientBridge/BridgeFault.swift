/// Why the bridge refuses a text: the member that is wrong, and what it must be.
///
/// A fault is a bug of the caller. The client core has not changed.
package struct BridgeFault: Error, Equatable, Sendable {
    /// The member, such as `uuid`; `nil` when the text as a whole is wrong.
    package let member: String?
    /// The reason for the refusal, in English.
    package let message: String

    init(_ member: String, _ message: String) {
        self.member = member
        self.message = message
    }

    init(text message: String) {
        member = nil
        self.message = message
    }

    /// The fault as one line, such as `uuid: must be a UUID`.
    package var line: String { member.map { "\($0): \(message)" } ?? message }
}
