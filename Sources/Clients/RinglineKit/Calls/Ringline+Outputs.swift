import CallClient
import CallCore

/// The outputs of the core, each to its port.
extension Ringline {
    func perform(_ output: CallClient.Output, isUrgent: Bool) {
        logOutput(output)
        switch output {
        case .reportIncoming, .reportRepeated, .reportConnecting, .reportConnected, .reportEnded, .update, .refused:
            report(output)
        case .peerRinging(let call): emit(.peerRinging(call))
        case .delayed(let call, let code): emit(.delayed(call, code: code))
        case .peerMedia: break  // `changed` reports it, as a part of the call's value.
        case .receivedDTMF(let call, let digits): emit(.digits(call, digits))
        case .receivedInfo(let call, let json): emit(.info(call, json))
        case .makeOffer, .makeAnswer, .setRemoteDescription, .addRemoteCandidate, .rollback, .startAudio, .stopAudio,
            .holdMedia, .muteMedia, .closeMedia:
            performMedia(output)
        case .send(let signal): socket?.socket.send(String(decoding: signal.frame, as: UTF8.self))
        case .post(let signal, let authorization): post(signal, authorization)
        case .fetch(let number, let callID, let peer, let since, let authorization):
            fetch(number, callID, peer, since, authorization)
        case .connect: if wantsConnection { connect(isUrgent: isUrgent) }
        case .renewToken: tokens.renew()
        case .tokenOfAnotherUser(let user): tokenIsOf(user)
        }
    }

    /// Carries out a report before the function that handed in the event returns.
    private func report(_ output: CallClient.Output) {
        let system = ports.system
        switch output {
        case .reportIncoming(let call, let peer), .reportRepeated(let call, let peer):
            system.reportIncoming(call, peer)
        case .reportConnecting(let call): system.reportConnecting(call, isOutgoing: isOutgoing(call))
        case .reportConnected(let call): system.reportConnected(call, isOutgoing: isOutgoing(call))
        case .reportEnded(let call, let end): system.reportEnded(call, end)
        case .update(let call, let peer): system.update(call, peer)
        case .refused(let call, let refusal):
            system.refuse(call, refusal)
            emit(.refused(call, refusal))
        default: break
        }
    }

    /// Returns whether this device's user made the call.
    ///
    /// A call that took over the UUID of one that lost a glare counts as outgoing, because the system shows it so.
    private func isOutgoing(_ call: CallUUID) -> Bool {
        core.calls.first { $0.uuid == call }?.side == .caller
    }

    private func performMedia(_ output: CallClient.Output) {
        let media = ports.media
        switch output {
        case .makeOffer(let call, let round, let hasVideo, let restartsICE):
            media.makeOffer(call, round: round, hasVideo: hasVideo, restartsICE: restartsICE)
        case .makeAnswer(let call, let round): media.makeAnswer(call, round: round)
        case .setRemoteDescription(let call, let kind, let sdp): media.setRemoteDescription(call, kind, sdp: sdp)
        case .addRemoteCandidate(let call, let candidate): media.addRemoteCandidate(call, candidate)
        case .rollback(let call): media.rollback(call)
        case .startAudio(let call): media.setAudio(call, isOn: true)
        case .stopAudio(let call): media.setAudio(call, isOn: false)
        case .holdMedia(let call, let isHeld): media.setHeld(call, isHeld)
        case .muteMedia(let call, let audio, let video): media.setMuted(call, audio: audio, video: video)
        case .closeMedia(let call): media.close(call)
        default: break
        }
    }
}
