/// One line of `ringline doctor`: what was looked at, how it is, and what helps.
struct Finding: Equatable {
    /// How it is.
    enum Grade: String {
        case ok
        /// The server runs, but not as well as it might, or this could not be looked at.
        case warning
        /// Something will not work.
        case error
    }

    let grade: Grade
    let subject: String
    let text: String
    /// What to do about it; `nil` where nothing is to be done.
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

    /// `error    TLS certificate: expired 2 days ago. Fix: renew it`.
    var line: String {
        let grade = grade.rawValue + String(repeating: " ", count: 9 - grade.rawValue.count)
        let end = text.hasSuffix(".") ? "" : "."
        return TextTable.visible("\(grade)\(subject): \(text)\(fix.map { "\(end) Fix: \($0)" } ?? "")")
    }
}
