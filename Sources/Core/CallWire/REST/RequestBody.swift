public import CallCore
import JSON

/// The bodies of requests that contain one value (protocol, section 5).
public enum RequestBody {
    /// Reads the body of `POST /api/calls`: the callee.
    ///
    /// `call_type` is validated and otherwise ignored: the offer decides whether the call has video.
    public static func callee(in body: [UInt8]) throws(WireError) -> UserID {
        let object = try JSONObject.ofBody(body)
        guard let callee = try object.user(.callee_id) else { throw .invalid(.callee_id, "missing") }
        switch try object.text(.call_type) {
        case nil, "audio", "video": return callee
        default: throw .invalid(.call_type, "must be audio or video")
        }
    }

    /// Reads the body of `POST /api/blocks`: the user to block.
    public static func blockedUser(in body: [UInt8]) throws(WireError) -> UserID {
        let object = try JSONObject.ofBody(body)
        var named = try object.user(.userId)
        if named == nil { named = try object.user(.blocked_user_id) }
        guard let user = named else { throw .invalid(.userId, "missing") }
        // Such an id means a number in the list of blocks and where blocks are removed.
        guard !user.text.hasPrefix(BlockBody.numberPrefix) else {
            throw .invalid(
                .userId,
                "an id that begins with \(BlockBody.numberPrefix) cannot be blocked; give a number as number"
            )
        }
        return user
    }

    /// What a user blocks: another user, or a phone number.
    public enum Blocked: Equatable, Sendable {
        /// A user.
        case user(UserID)
        /// A phone number.
        case number(PhoneNumber)
    }

    /// Reads the body of `POST /api/blocks`: the user or the number to block.
    public static func blocked(in body: [UInt8]) throws(WireError) -> Blocked {
        let object = try JSONObject.ofBody(body)
        guard let member = try object.unique("number") else {
            return .user(try blockedUser(in: body))
        }
        guard try object.user(.userId) == nil, try object.user(.blocked_user_id) == nil else {
            throw .invalid(named: "number", "must be alone: a request blocks a user or a number")
        }
        guard let number = object.string(member).flatMap({ PhoneNumber(normalizing: $0) }) else {
            throw .invalid(
                named: "number",
                "must be a text of 1 to 18 digits, the country code first; blanks, hyphens, dots, brackets and an extension are ignored"
            )
        }
        return .number(number)
    }

    /// Reads the body of `PUT /api/me/dnd`: the end of do-not-disturb; `nil` = it ends now.
    public static func doNotDisturbEnd(in body: [UInt8]) throws(WireError) -> Moment? {
        let object = try JSONObject.ofBody(body)
        guard let member = object.member(.until) else { throw .invalid(.until, "missing") }
        if member.kind == .null { return nil }
        guard let milliseconds = object.integer(member) else {
            throw .invalid(.until, "must be milliseconds since 1970, or null")
        }
        return Moment(milliseconds: milliseconds)
    }

    /// Reads the body of `POST /api/logout-all`: the user to log out; `nil` = the user that makes the request.
    public static func revokedUser(in body: [UInt8]) throws(WireError) -> UserID? {
        try JSONObject.ofBody(body).user(.userId)
    }
}
