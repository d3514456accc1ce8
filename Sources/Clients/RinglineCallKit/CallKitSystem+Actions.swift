#if canImport(CallKit) && !os(macOS)
public import AVFAudio
import CallClient
import CallCore
public import CallKit
import Foundation
import RinglineKit

/// The user's actions, which CallKit has this adapter perform.
///
/// An action is fulfilled when the core has taken it; an answer, when ``CallKitSystem/AnswerFulfilment`` says. While nobody is
/// logged in there are no calls: every action fails, except the end of a call.
extension CallKitSystem: @MainActor CXProviderDelegate {
    /// CallKit has forgotten all calls: they end.
    public func providerDidReset(_ provider: CXProvider) {
        answering = [:]
        starting = [:]
        lines = [:]
        tellAll(.input(.providerReset))
    }

    /// The user calls somebody.
    public func provider(_ provider: CXProvider, perform action: CXStartCallAction) {
        let call = CallUUID(action.callUUID)
        let wish = DialRequest(handle: action.handle.value, handleType: action.handle.type.type)
        let owner = account(forHandle: wish) ?? account(of: call)
        guard let owner, let events = owner.events, let to = wish?.to else { return action.fail() }
        lines[call] = Line(account: owner, hasVideo: action.isVideo, isTaken: true)
        prepareAudio(hasVideo: action.isVideo)
        starting[call] = action
        events(.start(call, to: to, hasVideo: action.isVideo))
        // At once, not when the peer answers: CallKit hands over the audio session only after this.
        starting.removeValue(forKey: call)?.fulfill()
    }

    /// The user answers.
    public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
        let call = CallUUID(action.callUUID)
        guard let events = account(of: call)?.events else { return action.fail() }
        lines[call]?.isTaken = true
        prepareAudio(hasVideo: lines[call]?.hasVideo ?? false)
        answering[call] = action
        events(.input(.answer(call)))
        if configuration.answerFulfilment == .atOnce { answering.removeValue(forKey: call)?.fulfill() }
    }

    /// The user ends, declines or cancels a call.
    public func provider(_ provider: CXProvider, perform action: CXEndCallAction) {
        let call = CallUUID(action.callUUID)
        answering.removeValue(forKey: call)?.fail()
        tell(call, .end(call))
        lines[call] = nil
        // Fulfilled in any case: a call that cannot be ended would stay on the screen.
        action.fulfill()
    }

    /// The user or the system holds or resumes a call.
    public func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) {
        perform(action, .setHeld(CallUUID(action.callUUID), action.isOnHold))
    }

    /// The user mutes the microphone, or no longer does.
    public func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) {
        perform(action, .setMuted(CallUUID(action.callUUID), audio: action.isMuted))
    }

    /// The user enters DTMF digits.
    public func provider(_ provider: CXProvider, perform action: CXPlayDTMFCallAction) {
        perform(action, .playDTMF(CallUUID(action.callUUID), action.digits))
    }

    /// The user groups calls: the action fails, because there are no conferences.
    public func provider(_ provider: CXProvider, perform action: CXSetGroupCallAction) {
        action.fail()
    }

    /// CallKit has given up waiting for an action: a call that is being answered or started ends as `failed`.
    public func provider(_ provider: CXProvider, timedOutPerforming action: CXAction) {
        switch action {
        case let action as CXAnswerCallAction:
            let call = CallUUID(action.callUUID)
            answering[call] = nil
            tell(call, .answerTimedOut(call))
        case let action as CXStartCallAction:
            let call = CallUUID(action.callUUID)
            starting[call] = nil
            tell(call, .end(call, .failed))
            lines[call] = nil
        default: break  // Every other action is complete when its method returns.
        }
    }

    /// The audio session is active: sound may flow.
    public func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) {
        isAudioActive = true
        tellAll(.input(.audioActivated))
    }

    /// The audio session is no longer active.
    public func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) {
        isAudioActive = false
        tellAll(.input(.audioDeactivated))
    }

    private func perform(_ action: CXCallAction, _ input: CallClient.Input) {
        guard let events = account(of: CallUUID(action.callUUID))?.events else { return action.fail() }
        // If the core refuses, `refuse` fails the action within this call, and there is nothing left to fulfil.
        pending[CallUUID(action.callUUID)] = action
        events(.input(input))
        pending.removeValue(forKey: CallUUID(action.callUUID))?.fulfill()
    }

    /// Sets the category and the mode of the audio session.
    ///
    /// CallKit then activates the session; the app must not. In a call that goes on, a change takes effect at once.
    func prepareAudio(hasVideo: Bool) {
        let session = AVAudioSession.sharedInstance()
        // If this fails, the call goes on with the earlier mode, and only the sound may be worse.
        try? session.setCategory(
            .playAndRecord,
            mode: hasVideo ? .videoChat : .voiceChat,
            options: hasVideo ? configuration.videoOptions : configuration.audioOptions
        )
    }
}
#endif
