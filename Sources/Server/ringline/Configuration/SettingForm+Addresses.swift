import CallPorts
import CallWire
import Gateway
import LibWebSockets
import OutboundHTTP
import Postgres
import Pushes

/// Addresses to listen on, and of nodes.
extension SettingForm<ListenAddress> {
    /// An address of this machine to listen on.
    static var listener: Self {
        Self(placeholder: "HOST:PORT") { texts throws(UsageError) in
            let form = Self.one("HOST:PORT", "HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080") { ListenAddress($0) }
            return try form.read(texts).bindable()
        }
    }

    /// An address that other nodes can use: its port is fixed, and its host has no blanks or control characters.
    static var nodeAddress: Self {
        one("HOST:PORT", "HOST:PORT with a port from 1, as in 10.0.0.5:7070") { text in
            guard let address = ListenAddress(text), address.port > 0, address.host.utf8.count <= 253,
                address.host.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { return nil }
            return address
        }
    }

    static var nodeListener: Self {
        Self(placeholder: "HOST:PORT") { texts throws(UsageError) in try nodeAddress.read(texts).bindable() }
    }
}

extension SettingForm<ListenAddress?> {
    static var listenerOrNone: Self {
        Self(placeholder: "HOST:PORT") { texts throws(UsageError) in
            texts.last == "none" ? nil : try SettingForm<ListenAddress>.listener.read(texts)
        }
    }
}

/// Addresses of services.
extension SettingForm<String> {
    static var keySetURL: Self {
        // The address is not quoted, because it may contain a password.
        one("URL", "https://HOST/PATH without a user name; http:// only for this machine", quoted: false) { text in
            PublishedKeys.isSafe(text) ? text : nil
        }
    }

    static var secureOrigin: Self {
        one("URL", "https://host or https://host:port", quoted: false) { HTTPRequest.isSecureOrigin($0) ? $0 : nil }
    }

    static var subject: Self {
        Self(placeholder: "ADDRESS") { texts throws(UsageError) in
            let text = texts.last ?? ""
            guard WebPushConfiguration.isSubject(text) else {
                throw UsageError("\(WebPushConfigurationError.malformedSubject)")
            }
            return text
        }
    }
}

extension SettingForm<ConnectionSettings?> {
    /// The URL of a PostgreSQL database.
    static var database: Self {
        Self(placeholder: "URL") { texts throws(UsageError) in
            guard let url = texts.last else { return nil }
            do throws(ConnectionSettings.Invalid) {
                let settings = try ConnectionSettings(url: url)
                // Other users of the machine can see the options of a process, and containers show its environment.
                guard !settings.hasPassword else {
                    throw ConnectionSettings.Invalid(
                        reason: "it contains a password; use --store-password-file, and for TLS a key without one"
                    )
                }
                return settings
            } catch { throw UsageError("cannot be used: \(error.reason)") }
        }
    }
}

/// Forms of repeatable settings.
extension SettingForm {
    /// Values each of which a function makes of a text, or refuses by `nil`.
    static func each<Element>(
        _ placeholder: String,
        _ wanted: String,
        _ make: @escaping @Sendable (String) -> Element?
    ) -> Self where Value == [Element] {
        Self(placeholder: placeholder, isRepeatable: true) { texts throws(UsageError) in
            var values: [Element] = []
            for text in texts { values.append(try SettingForm<Element>.one(placeholder, wanted, make).read([text])) }
            return values
        }
    }
}

extension SettingForm<[AddressRange]> {
    static var proxies: Self { each("ADDRESS[/BITS]", "an address or a block such as 10.0.0.0/8") { AddressRange($0) } }
}

extension SettingForm<[String]> {
    /// Host names as `AdminHosts` compares them.
    static var hostNames: Self {
        each("NAME", "a host name without a port, as in metrics.example.com") { AdminHosts.configured($0) }
    }

    /// Origins as browsers send them.
    static var origins: Self {
        Self(placeholder: "ORIGIN", isRepeatable: true) { texts throws(UsageError) in
            var origins: [String] = []
            for text in texts {
                do throws(WebOrigin.Fault) { origins.append(try WebOrigin.configured(text)) } catch {
                    throw UsageError(
                        "must be a scheme, a host and perhaps a port, as in https://app.example.com (\(error.why)), not '\(text)'"
                    )
                }
            }
            return origins
        }
    }
}

extension SettingForm<[ICEServerURL]> {
    /// URLs of ICE servers; the refusal of another one, such as a web address, shows the expected form.
    static func iceServers(relays: Bool) -> Self {
        let wanted =
            relays ? "turn:, turns: or stun:, as in turn:turn.example.com:3478?transport=udp" : "stun:HOST:PORT"
        return each("URL", wanted) { text in ICEServerURL(text).flatMap { relays || !$0.isRelay ? $0 : nil } }
    }
}

extension SettingForm<WebPushHosts> {
    /// The hosts to which Web Push messages may be sent.
    static var webPushHosts: Self {
        Self(placeholder: "HOST[:PORT]", isRepeatable: true) { texts throws(UsageError) in
            var hosts = WebPushHosts()
            for text in texts where !hosts.add(text) {
                throw UsageError("must be a host name, *.domain or host:port, not '\(text)'")
            }
            return hosts
        }
    }
}

extension SettingForm<[String: PayloadAliases]> {
    /// The keys that apps want in the pushes of calls, by bundle id.
    static var payloadAliases: Self {
        Self(placeholder: "BUNDLE:KEY=MEMBER", isRepeatable: true) { texts throws(UsageError) in
            var found: [String: PayloadAliases] = [:]
            for text in texts {
                guard let colon = text.firstIndex(of: ":"), let sign = text[colon...].firstIndex(of: "="),
                    colon > text.startIndex
                else { throw UsageError("must be BUNDLE:KEY=MEMBER, not '\(text)'") }
                let key = text[text.index(after: colon)..<sign]
                do throws(PayloadAliases.Fault) {
                    try found[String(text[..<colon]), default: PayloadAliases()]
                        .add(String(key), for: String(text[text.index(after: sign)...]))
                } catch { throw UsageError("'\(text)': \(error.message)") }
            }
            return found
        }
    }
}
