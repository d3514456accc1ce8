/// One line of `ringline doctor`: what was checked, the result, and what to do about it.
struct Finding: Equatable {
    /// The grade of a result.
    enum Grade: String {
        case ok
        /// The server runs, but with a limitation; or the check could not be made.
        case warning
        /// Something will not work.
        case error
    }

    let grade: Grade
    let subject: String
    let text: String
    /// The remedy; `nil` if there is nothing to do.
    let fix: String?

    static func ok(_ subject: String, _ text: String) -> Finding {
        Finding(grade: .ok, subject: subject, text: text, fix: nil)
    }

    static func warning(_ subject: String, _ text: String, fix: String) -> Finding {
        Finding(grade: .warning, subject: subject, text: text, fix: fix)
    }

    static func error(_ subject: String, _ text: String, fix: String) -> Finding {
        Finding(grade: .error, subject: subject, text: text, fix: fix)
    }

    /// The line to print: `error    TLS certificate: expired 2 days ago. Fix: renew it`.
    var line: String {
        let grade = grade.rawValue + String(repeating: " ", count: 9 - grade.rawValue.count)
        let end = text.hasSuffix(".") ? "" : "."
        return TextTable.visible("\(grade)\(subject): \(text)\(fix.map { "\(end) Fix: \($0)" } ?? "")")
    }
}
