public import CallCore
import CallWire
import JSON

extension Registration {
    /// An event that concerns the registration.
    public enum Input: Equatable, Sendable {
        /// A user is logged in: at launch, and after a login.
        case loggedIn
        /// The user logs out.
        ///
        /// The request to remove the row needs the user's bearer token, so keep the token until ``Registration/isSettled``.
        case loggedOut
        /// The system issued a token, or invalidated it (`nil`).
        case token(Kind, String?)
        /// A request succeeded (`nil`) or failed; see ``RequestFailure/init(status:body:)``.
        case answered(RegistrationNumber, RequestFailure?)
        /// The moment of ``Registration/deadline`` has come.
        case deadlineReached
    }

    /// A request for the app to make.
    public enum Output: Equatable, Sendable {
        /// Register the device with these tokens: `PUT /api/me/devices` with ``Registration/body(of:)``.
        case upload(RegistrationNumber, Tokens)
        /// Remove the device's row: `DELETE /api/me/devices/{deviceId}`.
        case remove(RegistrationNumber)
    }

    /// The kinds of tokens; the token of `PushKind.web` is the JSON text of `PushSubscription.toJSON()`.
    public typealias Kind = PushKind

    /// The tokens of a device, at most one of each kind.
    public typealias Tokens = PushTable<String>

    /// The services of Apple to which a token may belong.
    public enum Environment: String, Sendable, CaseIterable {
        /// For builds from Xcode.
        case sandbox
        /// For TestFlight and the App Store.
        case production
    }

    /// Returns the body of an upload, as UTF-8 (protocol, section 5.5).
    ///
    /// A web subscription that is not the JSON text of an object is left out.
    public func body(of tokens: Tokens) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("deviceId")
        json.plain(device.text)
        json.name("platform")
        json.value(platform)
        json.name("bundleId")
        json.value(bundleID)
        if let environment {
            json.name("environment")
            json.plain(environment.rawValue)
        }
        if let installation {
            json.name("installation")
            json.value(installation)
        }
        if let sound {
            json.name("sound")
            json.value(sound)
        }
        if let mutableContent {
            json.name("mutableContent")
            json.value(mutableContent)
        }
        for token in tokens.entries {
            guard token.kind == .web else {
                json.name(token.kind.member)
                json.value(token.value)
                continue
            }
            // A malformed text would make the whole body malformed.
            guard (try? JSONObject(Array(token.value.utf8), names: .none)) != nil else { continue }
            json.name(token.kind.member)
            json.raw(Array(token.value.utf8)[...])
        }
        json.endObject()
        return json.bytes
    }
}

/// The number of one request of a ``Registration``; its requests are numbered from 1.
public struct RegistrationNumber: Hashable, Sendable {
    /// The number.
    public let rawValue: UInt64

    /// Creates the number of a request.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}
