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
    @MainActor
    func update(of account: CallKitAccount) -> CXCallUpdate {
        let update = CXCallUpdate()
        update.remoteHandle = CXHandle(type: handleType.type, value: account.handle(handle, handleType))
        update.localizedCallerName = account.name(of: self)
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

extension CXHandle.HandleType {
    /// The kind that the client core has for the same address.
    var type: CallClient.HandleType {
        switch self {
        case .phoneNumber: .phoneNumber
        case .emailAddress: .emailAddress
        default: .generic
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
#endif
