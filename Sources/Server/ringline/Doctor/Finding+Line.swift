import CallCore
import Diagnostics

extension Finding {
    /// The line to print: `error    TLS certificate: expired 2 days ago. Fix: renew it`.
    var line: String {
        let grade = grade.rawValue + String(repeating: " ", count: 9 - grade.rawValue.count)
        let end = text.hasSuffix(".") ? "" : "."
        return "\(grade)\(subject): \(text)\(fix.map { "\(end) Fix: \($0)" } ?? "")".printable
    }
}
