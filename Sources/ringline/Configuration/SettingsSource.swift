import ArgumentParser
import FoundationEssentials
import Glibc

/// What is wrong with the configuration or the surroundings, in one line for stderr.
struct Complaint: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// Says it on stderr; what is to be thrown so that the process ends with a failure.
    func shown() -> ExitCode {
        show()
        return ExitCode(1)
    }

    /// Says it on stderr.
    func show() {
        // One write, so that lines of several threads do not mix; and no control characters of what it quotes.
        _ = Array("ringline: \(TextTable.visible(description))\n".utf8).withUnsafeBytes {
            write(2, $0.baseAddress, $0.count)
        }
    }
}

/// Where settings come from: flags before environment, environment before file, file before the default.
struct SettingsSource {
    /// What was given as flags, by name.
    var flags: [String: [String]] = [:]
    /// The environment.
    var environment: [String: String] = [:]
    /// What the file says, by name.
    var file: [String: String] = [:]

    /// All values of a setting.
    func values(_ name: String) throws(Complaint) -> [String] {
        guard let setting = Setting.named(name) else { throw Complaint("there is no setting \(name)") }
        if let values = flags[name], !values.isEmpty { return values }
        // An empty variable is how compose files and units say "not set".
        let text = environment[setting.variable].flatMap { $0.isEmpty ? nil : $0 } ?? file[name]
        guard let text else { return setting.fallback.map { [$0] } ?? [] }
        guard setting.isRepeatable else { return [text] }
        return text.split(separator: ",").map { $0.trimmed() }.filter { !$0.isEmpty }
    }

    /// By what name whoever gave a setting knows it.
    func origin(of name: String) -> String {
        guard let setting = Setting.named(name), flags[name]?.isEmpty ?? true else { return "--\(name)" }
        if environment[setting.variable].map({ !$0.isEmpty }) ?? false { return setting.variable }
        return file[name] == nil ? "--\(name)" : "config: \(name)"
    }

    /// The value of a setting that is given at most once.
    func value(_ name: String) throws(Complaint) -> String? { try values(name).last }

    /// A setting's value, where one of those that it may have.
    func choice(_ name: String, of choices: [String]) throws(Complaint) -> String {
        let value = try value(name) ?? ""
        guard choices.contains(value) else {
            throw Complaint("\(origin(of: name)): must be \(choices.joined(separator: ", ")), not '\(value)'")
        }
        return value
    }

    /// A positive number of seconds, in milliseconds.
    func milliseconds(_ name: String) throws(Complaint) -> Int64 {
        let value = try value(name) ?? ""
        guard let seconds = Double(value), seconds.isFinite, seconds > 0, seconds <= 31_536_000 else {
            throw Complaint("\(origin(of: name)): must be a positive number of seconds, not '\(value)'")
        }
        return max(1, Int64((seconds * 1_000).rounded()))
    }

    /// `true` or `false`.
    func flag(_ name: String) throws(Complaint) -> Bool { try choice(name, of: ["true", "false"]) == "true" }

    /// Where to listen.
    func address(_ name: String) throws(Complaint) -> ListenAddress {
        let value = try value(name) ?? ""
        guard let address = ListenAddress(value) else {
            throw Complaint(
                "\(origin(of: name)): must be HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080, not '\(value)'"
            )
        }
        return address
    }
}

/// `HOST:PORT`; an IPv6 host in brackets.
struct ListenAddress: Equatable {
    let host: String
    let port: Int

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.host = host
        self.port = port
    }
}

/// A configuration file: `name = value` a line, `#` begins a comment; quotes around a value are taken off.
///
/// Lines of a setting that may be repeated add up. `socketio.trust-register` is the same as `socketio-trust-register`.
enum ConfigurationFile {
    static func read(_ path: String) throws(Complaint) -> [String: String] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Complaint("config: \(path) cannot be read")
        }
        guard let text = String(data: data, encoding: .utf8) else { throw Complaint("config: \(path) is not UTF-8") }
        return try parse(text, path: path)
    }

    static func parse(_ text: String, path: String) throws(Complaint) -> [String: String] {
        var values: [String: String] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmed(controls: true)
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard let mark = line.firstIndex(of: "=") else {
                throw Complaint("config: \(path), line \(index + 1): must be 'name = value'")
            }
            let name = line[..<mark].trimmed()
            var value = line[line.index(after: mark)...].trimmed()
            if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") {
                value = String(value.dropFirst().dropLast())
            }
            guard let setting = Setting.named(String(name.map { $0 == "." ? "-" : $0 })) else {
                throw Complaint("config: \(path), line \(index + 1): there is no setting '\(name)'")
            }
            if let earlier = values[setting.name] {
                guard setting.isRepeatable else {
                    throw Complaint("config: \(path), line \(index + 1): '\(name)' stands there twice")
                }
                value = "\(earlier),\(value)"
            }
            values[setting.name] = value
        }
        return values
    }
}

extension StringProtocol {
    /// Without the blanks and tabs at both ends; and, where wanted, without control and invisible characters there.
    fileprivate func trimmed(controls: Bool = false) -> String {
        func isWanted(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.properties.generalCategory {
            case .spaceSeparator: false
            case .control: !(controls || scalar == "\t")
            case .format: !controls
            default: true
            }
        }
        guard let first = unicodeScalars.firstIndex(where: isWanted),
            let last = unicodeScalars.lastIndex(where: isWanted)
        else { return "" }
        // By scalars: a character would take what is joined to it along.
        var kept = String.UnicodeScalarView()
        kept.append(contentsOf: unicodeScalars[first...last])
        return String(kept)
    }
}
