public import CallCore
import Foundation

/// A call of the user's history, which ``Ringline/history(limit:before:)`` gets from the server (protocol, section 5.6).
public struct PastCall: Equatable, Sendable, Identifiable {
    /// The server's number of the call; ``Ringline/history(limit:before:)`` goes on from it.
    public var id: Int64
    /// The callId.
    public var callID: String
    /// The number, from 1, that tells apart the calls with the same callId and peer.
    public var epoch: UInt32
    /// The user who called.
    public var caller: String
    /// The user who was called.
    public var callee: String
    /// Whether this user called; otherwise the call came in.
    public var isOutgoing: Bool
    /// Whether the call came in, and none of this user's devices answered it.
    public var isMissed: Bool
    /// Whether the call has video.
    public var hasVideo: Bool
    /// Why the call ended, such as `hangup` or `unanswered`; `nil` = it goes on, or this version does not know the reason.
    public var reason: EndReason?
    /// When the call began.
    public var startedAt: Moment
    /// When it was answered; `nil` = it was not.
    public var answeredAt: Moment?
    /// When it ended; `nil` = it goes on.
    public var endedAt: Moment?
    /// The schedule by which the server itself called; `nil` = a user called.
    public var schedule: String?

    /// The other user.
    public var peer: String { isOutgoing ? callee : caller }
}

extension PastCall: Decodable {
    private enum Key: String, CodingKey {
        case id, callId, epoch, caller_id, callee_id, direction, hasVideo, reason, startedAt, answeredAt, endedAt,
            scheduled
    }

    private struct Scheduled: Decodable { var schedule: String }

    /// A user id, which the server writes as an integer if the token does.
    private struct User: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            // A value that is no integer may be a text.
            if let number = try? value.decode(Int64.self) {
                text = String(number)
            } else {
                text = try value.decode(String.self)
            }
        }
    }

    /// Reads a call as the server writes it.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        func moment(_ key: Key) throws -> Moment? {
            try members.decodeIfPresent(Int64.self, forKey: key).map { Moment(milliseconds: $0) }
        }
        id = try members.decode(Int64.self, forKey: .id)
        callID = try members.decode(String.self, forKey: .callId)
        epoch = try members.decode(UInt32.self, forKey: .epoch)
        caller = try members.decode(User.self, forKey: .caller_id).text
        callee = try members.decode(User.self, forKey: .callee_id).text
        let direction = try members.decode(String.self, forKey: .direction)
        isOutgoing = direction == "outgoing"
        isMissed = direction == "missed"
        hasVideo = try members.decode(Bool.self, forKey: .hasVideo)
        reason = try members.decodeIfPresent(String.self, forKey: .reason).flatMap { EndReason(rawValue: $0) }
        startedAt = try moment(.startedAt) ?? Moment(milliseconds: 0)
        answeredAt = try moment(.answeredAt)
        endedAt = try moment(.endedAt)
        schedule = try members.decodeIfPresent(Scheduled.self, forKey: .scheduled)?.schedule
    }
}

/// A request of the app to the server failed.
public struct RinglineRequestError: Error, Equatable, CustomStringConvertible {
    /// The HTTP status; 0 = no response came.
    public let status: Int
    /// Why, such as `503 store_unavailable: the database cannot be read at the moment`.
    public let description: String
}
