import CallClient
import CallCore
import JSON

/// Reads an input of the client core from its JSON form.
enum InputReader {
    static func input(_ text: [UInt8]) throws(BridgeFault) -> CallClient.Input {
        var members = try MemberReader(text)
        let input = try input(&members)
        try members.finish()
        return input
    }

    private static func input(_ members: inout MemberReader) throws(BridgeFault) -> CallClient.Input {
        let name = try members.text("in")
        if let input = try userAction(name, &members) { return input }
        if let input = try engineResult(name, &members) { return input }
        if let input = try serverEvent(name, &members) { return input }
        throw BridgeFault("in", "there is no input \(name)")
    }

    /// The actions of the app and the system.
    private static func userAction(
        _ name: String,
        _ members: inout MemberReader
    ) throws(BridgeFault) -> CallClient.Input? {
        switch name {
        case "startCall":
            return .startCall(
                CallClient.StartCall(
                    uuid: try uuid(&members),
                    callID: try members.value("callId", "a callId") { CallID($0) },
                    to: try members.value("to", "a user id") { UserID($0) },
                    hasVideo: try members.flag("hasVideo")
                )
            )
        case "reportFailed":
            let uuid = try uuid(&members)
            return .reportFailed(uuid, try members.value("why", "a reason of the system") { Silence(rawValue: $0) })
        case "reportSucceeded": return .reportSucceeded(try uuid(&members))
        case "answer": return .answer(try uuid(&members))
        case "answerTimedOut": return .answerTimedOut(try uuid(&members))
        case "end":
            let uuid = try uuid(&members)
            guard let text = try members.optionalText("reason") else { return .end(uuid) }
            guard let reason = EndReason(rawValue: text) else { throw BridgeFault("reason", "must be an end reason") }
            return .end(uuid, reason)
        case "setHeld": return .setHeld(try uuid(&members), try members.flag("held"))
        case "setMuted":
            let uuid = try uuid(&members)
            let audio = try members.optionalFlag("audio")
            return .setMuted(uuid, audio: audio, video: try members.optionalFlag("video"))
        case "playDTMF": return .playDTMF(try uuid(&members), try members.text("digits"))
        case "sendInfo": return .sendInfo(try uuid(&members), try members.text("data"))
        case "confirm": return .confirm(try uuid(&members))
        case "renegotiate":
            let uuid = try uuid(&members)
            let hasVideo = try members.optionalFlag("hasVideo")
            let restartsICE = try members.optionalFlag("restartsICE") ?? false
            return .renegotiate(uuid, hasVideo: hasVideo, restartsICE: restartsICE)
        case "audioActivated": return .audioActivated
        case "audioDeactivated": return .audioDeactivated
        case "providerReset": return .providerReset
        default: return nil
        }
    }

    /// The results and events of the media engine.
    private static func engineResult(
        _ name: String,
        _ members: inout MemberReader
    ) throws(BridgeFault) -> CallClient.Input? {
        switch name {
        case "localDescription":
            let uuid = try uuid(&members)
            let round: UInt32 = try members.number("round")
            let kind = try members.value("kind", "offer or answer") { CallClient.DescriptionKind(rawValue: $0) }
            return .localDescription(uuid, round: round, kind, sdp: try members.text("sdp"))
        case "localCandidate":
            let uuid = try uuid(&members)
            let round: UInt32 = try members.number("round")
            return .localCandidate(uuid, round: round, try members.textOrNull("candidate"))
        case "mediaConnected": return .mediaConnected(try uuid(&members))
        case "mediaFailed": return .mediaFailed(try uuid(&members))
        case "negotiationFailed":
            let uuid = try uuid(&members)
            return .negotiationFailed(uuid, round: try members.number("round"))
        default: return nil
        }
    }

    /// The events of the connection, the requests, the token, the pushes and the clock.
    private static func serverEvent(
        _ name: String,
        _ members: inout MemberReader
    ) throws(BridgeFault) -> CallClient.Input? {
        switch name {
        case "connectionOpened": return .connectionOpened
        case "connectionClosed": return .connectionClosed
        case "received": return .received(ServerMessage(Array(try members.text("frame").utf8)))
        case "fetched":
            let number = FetchNumber(rawValue: try members.number("number"))
            guard let (status, body) = try response(&members) else { return .fetched(number, .failure(.unreachable)) }
            return .fetched(number, FetchedCall.reply(status: status, body: body))
        case "posted":
            let id = try members.value("id", "a signal id") { SignalID($0) }
            guard let (status, body) = try response(&members) else { return .posted(id, .failure(.unreachable)) }
            return .posted(id, Ack.reply(status: status, body: body))
        case "tokenRenewed": return .tokenRenewed
        case "tokenExpired": return .tokenExpired
        case "pushed": return .pushed(push(try members.object("payload")))
        case "deadlineReached": return .deadlineReached
        default: return nil
        }
    }

    private static func uuid(_ members: inout MemberReader) throws(BridgeFault) -> CallUUID {
        try members.value("uuid", "a UUID") { CallUUID($0) }
    }

    /// Returns the status and the body of a response; `nil` for status 0, which means that none came.
    private static func response(_ members: inout MemberReader) throws(BridgeFault) -> (Int, [UInt8])? {
        let status: UInt16 = try members.number("status")
        let body = try members.optionalText("body") ?? ""
        return status == 0 ? nil : (Int(status), Array(body.utf8))
    }

    /// Returns the members of a push's payload.
    private static func push(_ payload: JSONObject) -> [String: PushValue] {
        var values: [String: PushValue] = [:]
        for member in payload.members {
            guard let name = payload.name(of: member) else { continue }
            switch member.kind {
            case .string: values[name] = payload.string(member).map { .string($0) } ?? .other
            // No member that the core reads may be a fraction.
            case .number: values[name] = payload.signedInteger(member).map { .int($0) } ?? .other
            case .true: values[name] = .bool(true)
            case .false: values[name] = .bool(false)
            case .null: values[name] = .null
            case .object, .array: values[name] = .json(String(decoding: payload.bytes[member.value], as: UTF8.self))
            }
        }
        return values
    }
}
