import CallCore
import CallPorts
import OutboundHTTP
import Switchboard

extension ServeSettings {
    /// Reads how events are sent to the app's backend; `nil` = there is no endpoint.
    static func backend(_ source: SettingsSource) throws(UsageError) -> Backend? {
        let secretFile = try source[\.eventsSecretFile]
        let caFile = try source[\.eventsCAFile]
        guard !(try source[\.eventsURL]).isEmpty else {
            guard secretFile == nil else {
                throw source.refusal(of: \.eventsSecretFile, "needs --events-url, the address of your backend")
            }
            guard caFile == nil else { throw source.refusal(of: \.eventsCAFile, "needs --events-url") }
            return nil
        }
        guard let secretFile else {
            throw source.refusal(
                of: \.eventsURL,
                "needs --events-secret-file, so that your backend can check who sends: make one with "
                    + "'ringline events secret > FILE'"
            )
        }
        return Backend(secretFile: secretFile, caFile: caFile)
    }

    /// Reads which events there are; `nil` = none.
    static func events(_ source: SettingsSource) throws(UsageError) -> EventPolicy? {
        let endpoints = try source[\.eventsURL]
        let policy = EventPolicy(
            types: try source[\.eventsTypes],
            endpoints: endpoints,
            keptFor: .seconds(Int64(try source[\.eventsKept]) * 86_400),
            keptBytes: Int64(try source[\.eventsKeptBytes])
        )
        return try source[\.eventsFeed] || !endpoints.isEmpty ? policy : nil
    }
}

extension SettingForm<[String]> {
    /// The addresses to which events are posted.
    ///
    /// An address is not quoted in a refusal, because it may contain a key.
    static var eventEndpoints: Self {
        Self(placeholder: "URL", isRepeatable: true) { texts throws(UsageError) in
            for (index, text) in texts.enumerated() {
                let which = texts.count == 1 ? "" : "number \(index + 1) "
                if let fault = EventURL.fault(of: text) { throw UsageError("\(which)\(fault)") }
                guard !texts[..<index].contains(text) else {
                    throw UsageError("number \(index + 1) is the same as an earlier one")
                }
            }
            guard texts.count <= EventPolicy.endpointLimit else {
                throw UsageError("may be given at most \(EventPolicy.endpointLimit) times, not \(texts.count) times")
            }
            return texts
        }
    }
}

/// An address to which events are posted.
enum EventURL {
    /// Returns what is wrong with an address, without quoting it; `nil` = nothing.
    ///
    /// The addresses of a name are known only when a connection is made, and are checked then.
    static func fault(of url: String) -> String? {
        guard let mark = url.firstRange(of: "://"), url.utf8.count <= 2_000,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") })
        else { return "must be https://HOST/PATH" }
        guard !url.contains("#") else { return "must have no fragment: nothing after a #" }
        let authority = url[mark.upperBound...].prefix { !"/?".contains($0) }
        guard !authority.contains("@") else {
            return "must have no user name or password: the secret of --events-secret-file proves who sends"
        }
        guard let host = host(of: authority) else { return "must name a host, as in https://app.example/ringline" }
        switch url[..<mark.lowerBound] {
        case "https": return nil
        case "http":
            guard OwnNetwork.mayContain(host: host) else {
                return "must be https: plain http goes only to this machine and to private networks"
            }
            return nil
        default: return "must begin with https://"
        }
    }

    /// Returns the name or the address of a `host` or `host:port`; `nil` if the text is neither.
    private static func host(of authority: Substring) -> String? {
        var host = authority
        var port = authority[authority.endIndex...]
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            host = authority[authority.index(after: authority.startIndex)..<end]
            port = authority[authority.index(after: end)...]
            guard host.contains(":") else { return nil }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            port = authority[colon...]
        }
        let digits = port.dropFirst()
        let isNumber = digits.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt16(digits).map { $0 > 0 } ?? false
        let isPort = port.isEmpty || port.first == ":" && isNumber
        let isHost = host.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
            default: false
            }
        }
        return !host.isEmpty && isHost && isPort ? String(host) : nil
    }
}

extension SettingForm<Set<AppEventType>> {
    /// Types of events, and beginnings of types that end with `*`.
    ///
    /// That events were lost is told in any case.
    static var eventTypes: Self {
        Self(placeholder: "TYPES") { texts throws(UsageError) in
            do throws(AppEventType.UnknownPattern) {
                return try AppEventType.matching(texts.last ?? "").union([.eventsLost])
            } catch {
                let names = AppEventType.allCases.map(\.rawValue)
                let groups = Set(names.map { "\($0.prefix { $0 != "." }).*" }).sorted()
                let meant = MisspeltName(error.pattern).nearest(of: names + groups)
                let hint = meant.map { "; did you mean '\($0)'?" } ?? ""
                throw UsageError("there is no type '\(error.pattern)'\(hint)")
            }
        }
    }
}
