#if canImport(CallKit) && !os(macOS)
import CallClient
import CallCore
import CallKit
import Foundation

extension CallUUID {
    /// The UUID of a `UUID`; its text always has the form.
    init(_ uuid: UUID) { self = CallUUID(uuid.uuidString) ?? CallUUID(UUID()) }

    /// The UUID for CallKit; the text always has the form.
    var uuid: UUID { UUID(uuidString: text) ?? UUID() }
}

extension CallClient.DisplayedPeer {
    /// What CallKit shows.
    ///
    /// The handle is the user's id, so that the list of recent calls leads back to the user; that of a scheduled call may be
    /// another address.
    var update: CXCallUpdate {
        let update = CXCallUpdate()
        update.remoteHandle = CXHandle(type: handleType.type, value: handle)
        update.localizedCallerName = name
        update.hasVideo = hasVideo
        update.supportsHolding = true
        update.supportsDTMF = true
        // There are no conferences.
        update.supportsGrouping = false
        update.supportsUngrouping = false
        return update
    }
}

extension CallClient.HandleType {
    /// The kind that CallKit has for the same address.
    var type: CXHandle.HandleType {
        switch self {
        case .generic: .generic
        case .phoneNumber: .phoneNumber
        case .emailAddress: .emailAddress
        }
    }
}

extension ReportedEnd {
    /// The reason that CallKit has for the same end.
    var reason: CXCallEndedReason {
        switch self {
        case .failed: .failed
        case .remoteEnded: .remoteEnded
        case .unanswered: .unanswered
        case .answeredElsewhere: .answeredElsewhere
        case .declinedElsewhere: .declinedElsewhere
        }
    }
}

extension PushValue {
    /// Converts PushKit's dictionary; a key that is no text is left out.
    static func values(of dictionary: [AnyHashable: Any]) -> [String: PushValue] {
        var values: [String: PushValue] = [:]
        for (name, value) in dictionary {
            if let name = name as? String { values[name] = PushValue(value) }
        }
        return values
    }

    /// Converts a value of PushKit's dictionary.
    ///
    /// On Apple's platforms a boolean is a number there, and the core takes 1 for true.
    init(_ value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let number as NSNumber:
            let double = number.doubleValue
            self = Int64(exactly: double).map { .int($0) } ?? .double(double)
        case let flag as Bool: self = .bool(flag)
        case let number as Int: self = .int(Int64(number))
        case let number as Double: self = .double(number)
        case is NSNull: self = .null
        case is [Any], is [String: Any]: self = Self.json(value)
        default: self = .other
        }
    }

    /// Converts a dictionary or an array.
    private static func json(_ value: Any) -> PushValue {
        // PushKit's dictionary comes from JSON, and can be written as JSON. Of another one the core reads nothing.
        guard JSONSerialization.isValidJSONObject(value),
            // Such an object is not refused.
            let json = try? JSONSerialization.data(withJSONObject: value)
        else { return .other }
        return .json(String(decoding: json, as: UTF8.self))
    }
}
#endif
