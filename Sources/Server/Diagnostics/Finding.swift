/// A finding of a diagnosis, one line of `ringline doctor`: the subject, the result, and the remedy.
package struct Finding: Equatable {
    /// The grade of a result.
    package enum Grade: String {
        /// All is as it should be.
        case ok
        /// The server runs, but with a limitation; or the check could not be made.
        case warning
        /// Something will not work.
        case error
    }

    package let grade: Grade
    /// The subject of the check.
    package let subject: String
    /// The result, in words.
    package let text: String
    /// The remedy; `nil` if there is nothing to do.
    package let fix: String?

    /// Returns a finding without a remedy.
    package static func ok(_ subject: String, _ text: String) -> Finding {
        Finding(grade: .ok, subject: subject, text: text, fix: nil)
    }

    /// Returns the finding that the server runs with a limitation, or that the check could not be made.
    package static func warning(_ subject: String, _ text: String, fix: String) -> Finding {
        Finding(grade: .warning, subject: subject, text: text, fix: fix)
    }

    /// Something will not work.
    package static func error(_ subject: String, _ text: String, fix: String) -> Finding {
        Finding(grade: .error, subject: subject, text: text, fix: fix)
    }
}
