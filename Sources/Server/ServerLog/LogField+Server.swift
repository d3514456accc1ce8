/// The fields about the server itself.
extension LogField {
    /// The program's version.
    package static func version(_ version: ServerText) -> Self { Self(own: .version, version) }
    /// The data folder.
    package static func data(_ path: OperatorText) -> Self { Self(operators: .data, path) }
    /// The id of another process; `nil` if it is unknown, which is written as `?`.
    package static func process(_ id: Int?) -> Self { id.map { Self(.process, $0) } ?? Self(.process, "?") }
    /// The limit of open files.
    package static func descriptors(_ limit: UInt64) -> Self { Self(.descriptors, limit) }
    /// The error message of a library or of the system.
    package static func error(_ error: UntrustedText) -> Self { Self(.error, error.description) }
    /// The server's own sentence about an error in the operator's settings; the sentence names the setting.
    package static func error(about settings: OperatorText) -> Self { Self(operators: .error, settings) }
    /// The kind of the keys.
    package static func keys(_ kind: ServerText) -> Self { Self(own: .keys, kind) }
    /// A line of libwebsockets' log.
    package static func library(_ line: UntrustedText) -> Self { Self(.library, line.description) }
    /// The file of the certificate.
    package static func certificate(_ path: OperatorText) -> Self { Self(operators: .tlsCertificate, path) }
    /// The file of the certificate's key.
    package static func certificateKey(_ path: OperatorText) -> Self { Self(operators: .tlsKey, path) }
    /// The address of the key set.
    package static func keySet(_ url: OperatorText) -> Self { Self(operators: .keySetURL, url) }
    /// The number of keys in the key set.
    package static func keySetKeys(_ count: Int) -> Self { Self(.keySetKeys, count) }
    /// The number of fetches of the key set that failed in a row.
    package static func keySetFailures(_ count: Int) -> Self { Self(.keySetFailures, count) }
    /// The level of the log.
    package static func level(_ level: LogLevel) -> Self { Self(.logLevel, level.name) }
    /// The number of log lines that were dropped.
    package static func dropped(_ count: UInt64) -> Self { Self(.logDropped, count) }
    /// How many lines with the same sentence were only counted, because unauthenticated clients or accounts caused too
    /// many.
    package static func suppressed(_ count: UInt64) -> Self { Self(.logSuppressed, count) }
    /// How far the wall clock is ahead of the time with which it was compared, in whole seconds; negative if it is
    /// behind.
    package static func clockAhead(seconds: Int64) -> Self { Self(.clockAhead, "\(seconds) s") }
    /// The address of an endpoint of the app's backend.
    package static func endpoint(_ url: OperatorText) -> Self { Self(operators: .endpoint, url) }
    /// The number of events for the app's backend.
    package static func events(_ count: Int) -> Self { Self(.events, count) }
    /// A number of schedules.
    package static func schedules(_ count: Int) -> Self { Self(.schedules, String(count)) }
    /// The address at which a node accepts links of other nodes: its operator's setting, as the database has it.
    package static func nodeAddress(_ address: OperatorText) -> Self { Self(operators: .nodeAddress, address) }
    /// The machine of the server that owns the database.
    package static func databaseOwner(_ machine: UntrustedText) -> Self { Self(.databaseOwner, machine.description) }
    /// A table of the database.
    package static func table(_ name: ServerText) -> Self { Self(own: .databaseTable, name) }
    /// A column of the database.
    package static func column(_ name: ServerText) -> Self { Self(own: .databaseColumn, name) }
    /// The key of a row of the database.
    package static func row(_ key: UntrustedText) -> Self { Self(.databaseRow, key.description) }

    private init(own key: LogKey, _ words: ServerText) { self.init(key, words.text) }
    private init(operators key: LogKey, _ text: OperatorText) { self.init(key, text.text) }
}
