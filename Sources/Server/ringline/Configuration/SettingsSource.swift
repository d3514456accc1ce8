import ArgumentParser
import CallCore
import FoundationEssentials
import Glibc
import Identity
import Postgres

/// An error in the configuration or the environment, as one line for stderr.
struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// Creates the error of a setting that names a file that cannot be read.
    ///
    /// The path is shown as it is, so the setting must be none of a secret.
    init(_ setting: String, _ path: String, _ error: SecretFileError) {
        guard case .cannot(_, _, let code) = error else {
            description = "\(setting): \(error)"
            return
        }
        description = "\(setting): \(path) cannot be read: \(String(cString: strerror(code)).lowercased())"
    }

    /// Prints the message to stderr and returns an error to throw, so that the process exits with a failure.
    func shown(asJSON: Bool = false) -> ExitCode {
        show(asJSON: asJSON)
        return ExitCode(1)
    }

    /// Prints the message to stderr: as a sentence, or as a line of a log in JSON.
    func show(asJSON: Bool = false) {
        // The line is written in one write, so that lines of several threads do not mix. Control characters in quoted
        // text are replaced.
        let line = asJSON ? Log.fatalLine(description) : Array("ringline: \(description.printable)\n".utf8)
        _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    }
}

/// The sources of settings, by precedence: flags, then the environment, then the file, then the default.
struct SettingsSource {
    /// The values given as flags, by the name of the flag.
    var flags: [String: [String]] = [:]
    /// The environment variables.
    var environment: [String: String] = [:]
    /// The values from the file, by the name that stands there.
    var file: [String: String] = [:]

    /// The row of a setting in the table.
    typealias Row<Value: Sendable> = KeyPath<SettingTable, SettingTable.Row<Value>>

    /// The value of a setting, read and checked.
    subscript<Value>(_ row: Row<Value>) -> Value {
        get throws(UsageError) {
            do throws(UsageError) { return try Setting.rows[keyPath: row].form.read(texts(row)) } catch {
                throw refusal(of: row, error.description)
            }
        }
    }

    /// Returns the texts of all values of a setting.
    func texts<Value>(_ row: Row<Value>) -> [String] { texts(of: Setting.rows[keyPath: row].setting) }

    /// Returns the texts of all values of a setting.
    func texts(of setting: Setting) -> [String] {
        given(setting).first?.texts ?? setting.fallback.map { [$0] } ?? []
    }

    /// Returns the values of a setting as each source gives them, by precedence.
    func given(_ setting: Setting) -> [Given] {
        func split(_ text: String) -> [String] {
            guard setting.isRepeatable else { return [text] }
            return text.split(separator: ",").map { $0.trimmed() }.filter { !$0.isEmpty }
        }
        let options = setting.names.compactMap { name in
            flags[name].flatMap { $0.isEmpty ? nil : Given(origin: .option, name: name, texts: $0) }
        }
        let variables = setting.names.compactMap { name in
            // Compose files and systemd units express "not set" by an empty variable.
            environment[Setting.variable(of: name)].flatMap {
                $0.isEmpty ? nil : Given(origin: .variable, name: name, texts: split($0))
            }
        }
        let lines = setting.names.compactMap { name in
            file[name].map { Given(origin: .file, name: name, texts: split($0)) }
        }
        return options + variables + lines
    }

    /// Returns the error of a setting, under the name by which the user set it.
    func refusal<Value>(of row: Row<Value>, _ reason: String) -> UsageError {
        refusal(of: Setting.rows[keyPath: row].setting, reason)
    }

    /// Returns the error of a setting, under the name by which the user set it.
    func refusal(of setting: Setting, _ reason: String) -> UsageError {
        UsageError("\(given(setting).first?.label ?? "--\(setting.name)"): \(reason)")
    }

    /// Returns the PostgreSQL database of `store`; `nil` if the setting is not given.
    func database() throws(UsageError) -> ConnectionSettings? {
        let database = try self[\.store]
        let passwordFile = try self[\.storePasswordFile]
        guard database != nil || passwordFile == nil else {
            throw UsageError("--store-password-file needs --store")
        }
        return database
    }
}

/// An address to listen on, parsed from `HOST:PORT`; an IPv6 host is in brackets.
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
        self.init(host: host, port: port)
    }

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Returns the address with the IP address to bind, since a socket is bound to no name.
    ///
    /// `localhost` is the IPv4 address of this machine, whatever /etc/hosts says.
    func bindable() throws(UsageError) -> ListenAddress {
        if host == "localhost" { return ListenAddress(host: "127.0.0.1", port: port) }
        guard isIPAddress else {
            throw UsageError(
                "must begin with an IP address of this machine, as in 127.0.0.1:8080 or 0.0.0.0:8080, not '\(host)'"
            )
        }
        return self
    }

    /// Whether the host is an IPv4 or IPv6 address, and no name.
    private var isIPAddress: Bool { !bytes.isEmpty }

    /// Whether one process cannot listen on both: they are one port of the same address, or one includes the other.
    ///
    /// `::` includes all addresses, and 0.0.0.0 those of IPv4. Port 0 is any free port.
    func overlaps(_ other: ListenAddress) -> Bool {
        guard port == other.port, port > 0 else { return false }
        func includes(_ all: [UInt8], _ one: [UInt8]) -> Bool {
            all.allSatisfy { $0 == 0 } && (all.count == 16 || all.count == one.count)
        }
        let (own, others) = (bytes, other.bytes)
        return own == others || includes(own, others) || includes(others, own)
    }

    /// The bytes of the IP address: 4 or 16; none if the host is a name.
    private var bytes: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, host, &bytes) == 1 { return Array(bytes.prefix(4)) }
        return inet_pton(AF_INET6, host, &bytes) == 1 ? bytes : []
    }

    /// The address as `HOST:PORT`; an IPv6 host is in brackets.
    var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// A configuration file: one `name = value` per line.
///
/// `#` begins a comment line; quotes around a value are removed.
///
/// If a repeatable setting has several lines, their values are combined. `socketio.trust-register` is the same as
/// `socketio-trust-register`.
enum ConfigurationFile {
    static func read(_ path: String) throws(UsageError) -> [String: String] {
        let bytes: [UInt8]
        do throws(SecretFileError) { bytes = try NamedFile.read(path) } catch {
            throw UsageError("config", path, error)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("config: \(path) is not UTF-8")
        }
        return try parse(text, path: path)
    }

    static func parse(_ text: String, path: String) throws(UsageError) -> [String: String] {
        var values: [String: String] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmed(controls: true)
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard let mark = line.firstIndex(of: "=") else {
                throw UsageError("config: \(path), line \(index + 1): must be 'name = value'")
            }
            let name = line[..<mark].trimmed()
            var value = line[line.index(after: mark)...].trimmed()
            if value.count >= 2, value.hasPrefix("\""), value.hasSuffix("\"") {
                value = String(value.dropFirst().dropLast())
            }
            let key = String(name.map { $0 == "." ? "-" : $0 })
            guard let setting = Setting.named(key) else {
                throw UsageError("config: \(path), line \(index + 1): unknown setting '\(name)'")
            }
            if let earlier = values[key] {
                guard setting.isRepeatable else {
                    throw UsageError("config: \(path), line \(index + 1): duplicate setting '\(name)'")
                }
                value = "\(earlier),\(value)"
            }
            values[key] = value
        }
        return values
    }
}

extension StringProtocol {
    /// Returns the text without blanks and tabs at both ends; with `controls`, also without control and invisible
    /// characters.
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
        // The comparison uses Unicode scalars: in a `Character`, combining scalars would be removed together with their
        // base.
        var kept = String.UnicodeScalarView()
        kept.append(contentsOf: unicodeScalars[first...last])
        return String(kept)
    }
}
