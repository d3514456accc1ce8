import CallCore
import CallPorts
import OutboundHTTP
import Switchboard

extension ServeSettings {
    /// Reads how requests are sent to the app's backend; `nil` = there are none.
    static func backend(_ source: SettingsSource) throws(UsageError) -> Backend? {
        let secretFile = try source[\.eventsSecretFile]
        let caFile = try source[\.eventsCAFile]
        let takesEvents = !(try source[\.eventsURL]).isEmpty
        let decideURL = try source[\.decideURL]
        guard takesEvents || decideURL != nil else {
            guard secretFile == nil else {
                throw source.refusal(
                    of: \.eventsSecretFile,
                    "needs --events-url or --decide-url, an address of your backend"
                )
            }
            guard caFile == nil else {
                throw source.refusal(of: \.eventsCAFile, "needs --events-url or --decide-url")
            }
            return nil
        }
        guard let secretFile else {
            let why =
                "needs --events-secret-file, so that your backend can check who sends: make one with "
                + "'ringline events secret > FILE'"
            throw takesEvents ? source.refusal(of: \.eventsURL, why) : source.refusal(of: \.decideURL, why)
        }
        return Backend(secretFile: secretFile, caFile: caFile, takesEvents: takesEvents, decideURL: decideURL)
    }

    /// Reads how the app's backend decides about calls; `nil` = it is not asked.
    static func decisions(_ source: SettingsSource) throws(UsageError) -> DecisionPolicy? {
        let policy = DecisionPolicy(
            timeout: .milliseconds(try source[\.decideTimeout]),
            failure: try source[\.decideFailure]
        )
        guard try source[\.decideURL] != nil else {
            guard try source[\.callerName] != .decision else {
                throw source.refusal(of: \.callerName, "decision needs --decide-url, where your backend gives the name")
            }
            return nil
        }
        return policy
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
                if let fault = BackendURL.fault(of: text) { throw UsageError("\(which)\(fault)") }
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

extension SettingForm<String> {
    /// The address of the app's backend at which it is asked.
    ///
    /// It is not quoted in a refusal, because it may contain a key.
    static var backendURL: Self {
        Self(placeholder: "URL") { texts throws(UsageError) in
            let text = texts.last ?? ""
            if let fault = BackendURL.fault(of: text) { throw UsageError(fault) }
            return text
        }
    }
}

/// An address of the app's backend.
enum BackendURL {
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

extension SettingForm<[String]> {
    /// Names of a token's claims; without a text, none.
    static var claimNames: Self {
        Self(placeholder: "NAMES") { texts throws(UsageError) in
            guard let text = texts.last else { return [] }
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            guard names.count <= 16 else { throw UsageError("must be at most 16 names, not \(names.count)") }
            guard names.allSatisfy({ (1...64).contains($0.utf8.count) }) else {
                throw UsageError("must be names of 1 to 64 bytes, separated by commas")
            }
            guard Set(names).count == names.count else { throw UsageError("must not have the same name twice") }
            return names
        }
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
