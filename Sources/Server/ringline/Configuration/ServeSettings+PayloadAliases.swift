import CallWire

extension ServeSettings {
    /// Returns the keys that apps want in the pushes of calls, by bundle id.
    static func payloadAliases(_ source: SettingsSource) throws(UsageError) -> [String: PayloadAliases] {
        var found: [String: PayloadAliases] = [:]
        for text in try source.values("payload-alias") {
            guard let colon = text.firstIndex(of: ":"), let sign = text[colon...].firstIndex(of: "="),
                colon > text.startIndex
            else {
                throw UsageError("\(source.origin(of: "payload-alias")): must be BUNDLE:KEY=MEMBER, not '\(text)'")
            }
            let key = text[text.index(after: colon)..<sign]
            do throws(PayloadAliases.Fault) {
                try found[String(text[..<colon]), default: PayloadAliases()]
                    .add(String(key), for: String(text[text.index(after: sign)...]))
            } catch {
                throw UsageError("\(source.origin(of: "payload-alias")): '\(text)': \(error.message)")
            }
        }
        return found
    }
}
