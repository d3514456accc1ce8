/// The form of a setting's values: how they look in the help, and how the server reads their texts.
struct SettingForm<Value: Sendable>: Sendable {
    /// The placeholder for the value in the help: `HOST:PORT`.
    let placeholder: String
    var isRepeatable = false
    /// Reads the texts, of which only the last counts if the setting is not repeatable.
    ///
    /// An error is the end of a sentence that begins with the name under which the setting was given.
    let read: @Sendable (_ texts: [String]) throws(UsageError) -> Value
}

/// Forms of one value.
extension SettingForm {
    /// A value that a function makes of the text, or refuses by `nil`.
    ///
    /// The refusal quotes the text, unless it may contain a password.
    static func one(
        _ placeholder: String,
        _ wanted: String,
        quoted: Bool = true,
        _ make: @escaping @Sendable (String) -> Value?
    ) -> Self {
        Self(placeholder: placeholder) { texts throws(UsageError) in
            let text = texts.last ?? ""
            guard let value = make(text) else {
                throw UsageError("must be \(wanted)" + (quoted ? ", not '\(text)'" : ""))
            }
            return value
        }
    }

    /// One of several words, each with its value.
    static func choice(_ choices: KeyValuePairs<String, Value>) -> Self {
        let words = choices.map(\.key)
        return one(words.joined(separator: "|"), words.joined(separator: ", ")) { text in
            choices.first { $0.key == text }?.value
        }
    }

    /// Another form for a setting that has no default; `nil` = it is not given.
    static func ifGiven<Given>(_ form: SettingForm<Given>) -> Self where Value == Given? {
        Self(placeholder: form.placeholder) { texts throws(UsageError) in texts.isEmpty ? nil : try form.read(texts) }
    }
}

extension SettingForm<String?> {
    static var file: Self { text("FILE") }

    static func text(_ placeholder: String) -> Self { Self(placeholder: placeholder) { texts in texts.last } }
}

extension SettingForm<Bool> {
    static var truth: Self { choice(["true": true, "false": false]) }
}

extension SettingForm<Int> {
    /// A whole number, or a whole number of some unit.
    static func count(from least: Int, to most: Int = .max, of unit: String? = nil) -> Self {
        let number = "a whole number" + (unit.map { " of \($0)" } ?? "")
        let range = "from \(least)" + (most == .max ? "" : " to \(most)")
        return one(unit?.uppercased() ?? "COUNT", "\(number) \(range)") { text in
            Int(text).flatMap { (least...most).contains($0) ? $0 : nil }
        }
    }

    /// A whole number of bytes, from 1.
    static var bytes: Self { Self(placeholder: "BYTES", read: count(from: 1).read) }
}

/// Seconds, as milliseconds.
extension SettingForm<Int64> {
    /// A positive number of seconds up to a limit; with `orZero` also 0.
    static func seconds(atMost limit: Double, orZero: Bool = false) -> Self {
        one("SECONDS", "a positive number of seconds, at most \(Int(limit))") { text in
            if orZero, text == "0" { return 0 }
            guard let seconds = Double(text), seconds > 0, seconds <= limit else { return nil }
            return max(1, Int64((seconds * 1_000).rounded()))
        }
    }

    static func seconds(from least: Double, to most: Double) -> Self {
        let first = least == least.rounded() ? "\(Int(least))" : "\(least)"
        return one("SECONDS", "a number of seconds from \(first) to \(Int(most))") { text in
            guard let seconds = Double(text), (least...most).contains(seconds) else { return nil }
            return Int64((seconds * 1_000).rounded())
        }
    }
}

extension SettingForm<String> {
    /// A URL that is not checked here.
    static var url: Self { Self(placeholder: "URL") { texts in texts.last ?? "" } }

    static func word(_ placeholder: String, of words: [String]) -> Self {
        one(placeholder, words.joined(separator: ", ")) { words.contains($0) ? $0 : nil }
    }

    /// A folder, or `:memory:`.
    static var folder: Self {
        Self(placeholder: "DIR") { texts throws(UsageError) in
            guard let path = texts.last, !path.isEmpty else { throw UsageError("must name a folder") }
            return path
        }
    }
}
