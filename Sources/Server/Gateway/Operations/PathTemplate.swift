/// The path of operations, with a name in braces for each part that varies, as OpenAPI writes it.
struct PathTemplate: Equatable, Sendable, ExpressibleByStringLiteral {
    /// A part of a path that varies.
    enum Variable: String {
        case callID = "callId"
        case device = "deviceId"
        case schedule = "scheduleId"
        case user = "userId"
    }

    private enum Part: Equatable {
        case word(String)
        case variable(Variable)
    }

    private let parts: [Part]

    init(stringLiteral text: String) {
        parts = text.split(separator: "/").map { part in
            guard part.hasPrefix("{") else { return .word(String(part)) }
            guard let variable = Variable(rawValue: String(part.dropFirst().dropLast())) else {
                preconditionFailure("\(part) is no variable of a path")
            }
            return .variable(variable)
        }
    }

    /// Returns a path with further parts.
    static func + (path: Self, rest: Self) -> Self { Self(parts: path.parts + rest.parts) }

    private init(parts: [Part]) { self.parts = parts }

    /// The number of parts.
    var count: Int { parts.count }

    /// Returns whether a path of as many parts is of this form.
    ///
    /// The words of a path are compared as the client wrote them, so that no other spelling bypasses a proxy's rule.
    func matches(_ path: [String]) -> Bool {
        for (part, text) in zip(parts, path) {
            if case .word(let word) = part, word != text { return false }
        }
        return true
    }

    /// Returns the place of a variable among the parts; `nil` = the path does not have it.
    func place(of variable: Variable) -> Int? { parts.firstIndex(of: .variable(variable)) }
}
