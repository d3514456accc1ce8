package import CallCore
package import JSON
package import OutboundHTTP

/// What the responses of all push services have in common.
package enum PushResponse {
    /// Whether a status is one of a fault that passes.
    package static func isPassing(_ status: Int) -> Bool { status == 429 || (500...599).contains(status) }

    /// Returns the moment before which the request must not be repeated; `nil` = the response names none, or the
    /// request must not be repeated at all.
    ///
    /// - Parameters:
    ///   - response: the response; its header `retry-after` must have been wanted.
    ///   - now: when the response came.
    ///   - wall: the wall clock, in milliseconds since 1970.
    /// - Returns: the moment, at most a day away.
    package static func retryAt(_ response: HTTPResponse, at now: Moment, wall: Int64) -> Moment? {
        guard isPassing(response.status) else { return nil }
        return response.retryAfterSeconds(wall: wall).map { now + .seconds($0) }
    }

    /// Returns a reason if it is one word, as the services' own are (`BadDeviceToken`, `UNREGISTERED`); otherwise nil.
    ///
    /// Reasons are stored, shown and counted, so no other text may pass.
    package static func word(_ reason: String) -> String? {
        let isWord = reason.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
            default: false
            }
        }
        return isWord && (1...64).contains(reason.utf8.count) ? reason : nil
    }

    /// Returns the object in a part of a body; `nil` if it is another value.
    ///
    /// A body that is not the service's, such as a proxy's page, has no reason, whatever its fault is.
    package static func object(_ bytes: [UInt8], _ part: Range<Int>) -> JSONObject? {
        // Only what such a body says is lost.
        try? JSONObject(bytes, names: .none, in: part)
    }

    /// Returns the object of a body; `nil` if it is another value.
    package static func object(_ bytes: [UInt8]) -> JSONObject? { object(bytes, 0..<bytes.count) }
}
