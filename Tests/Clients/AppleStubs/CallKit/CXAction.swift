public import Foundation

/// An action of the user, which the app fulfils or fails.
open class CXAction: NSObject {
    /// The identity of the action.
    public let uuid = UUID()
    /// Whether the app has fulfilled or failed it.
    public private(set) var isComplete = false
    /// Whether the app fulfilled it; `nil` = not yet (of the stub).
    public private(set) var isFulfilled: Bool?

    /// The app has done it.
    open func fulfill() { complete(true) }
    /// The app cannot do it.
    open func fail() { complete(false) }

    private func complete(_ isFulfilled: Bool) {
        // As in CallKit, what is complete stays as it is.
        guard !isComplete else { return }
        isComplete = true
        self.isFulfilled = isFulfilled
    }
}

/// An action on a call.
open class CXCallAction: CXAction {
    /// The call.
    public let callUUID: UUID
    /// Creates an action on a call.
    public init(call callUUID: UUID) { self.callUUID = callUUID }
}

/// The user calls somebody.
open class CXStartCallAction: CXCallAction {
    /// Whom to call.
    public var handle: CXHandle
    /// Whether the call has video.
    public var isVideo = false

    /// Creates the action.
    public init(call callUUID: UUID, handle: CXHandle) {
        self.handle = handle
        super.init(call: callUUID)
    }
}

/// The user answers.
open class CXAnswerCallAction: CXCallAction {}

/// The user ends, declines or cancels a call.
open class CXEndCallAction: CXCallAction {}

/// The user or the system holds or resumes a call.
open class CXSetHeldCallAction: CXCallAction {
    /// Whether the call is put on hold.
    public var isOnHold: Bool

    /// Creates the action.
    public init(call callUUID: UUID, onHold: Bool) {
        isOnHold = onHold
        super.init(call: callUUID)
    }
}

/// The user mutes the microphone, or no longer does.
open class CXSetMutedCallAction: CXCallAction {
    /// Whether the microphone is muted.
    public var isMuted: Bool

    /// Creates the action.
    public init(call callUUID: UUID, muted: Bool) {
        isMuted = muted
        super.init(call: callUUID)
    }
}

/// The user groups calls.
open class CXSetGroupCallAction: CXCallAction {
    /// The call to group with; `nil` = none any more.
    public var callUUIDToGroupWith: UUID?

    /// Creates the action.
    public init(call callUUID: UUID, callUUIDToGroupWith: UUID?) {
        self.callUUIDToGroupWith = callUUIDToGroupWith
        super.init(call: callUUID)
    }
}

/// The user enters digits.
open class CXPlayDTMFCallAction: CXCallAction {
    /// How the digits came.
    public enum ActionType: Int, Sendable {
        /// One digit of the keypad; or digits after a pause.
        case singleTone = 1, softPause, hardPause
    }

    /// The digits.
    public var digits: String
    /// How they came.
    public var type: ActionType

    /// Creates the action.
    public init(call callUUID: UUID, digits: String, type: ActionType) {
        self.digits = digits
        self.type = type
        super.init(call: callUUID)
    }
}

/// Actions that belong together.
open class CXTransaction: NSObject {
    /// The actions.
    public private(set) var actions: [CXAction]
    /// Creates a transaction of one action.
    public init(action: CXAction) { actions = [action] }
}
