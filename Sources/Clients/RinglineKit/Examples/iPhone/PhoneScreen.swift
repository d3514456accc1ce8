import CallClient
import CallCore
import Foundation
import RinglineKit
import SwiftUI
import UIKit
@preconcurrency import WebRTC

struct PhoneScreen: View {
    @ObservedObject var phone: Phone
    @State private var peer = ""

    var body: some View {
        List {
            if let notice = phone.notice { Text(notice) }
            if phone.account == nil {
                SignInRows(phone: phone)
            } else {
                Section(phone.isConnected ? "Call" : "Connecting") {
                    TextField("user id", text: $peer)
                    Button("Call") { call(hasVideo: false) }
                    Button("Call with video") { call(hasVideo: true) }
                    if let proposal = phone.proposal {
                        Button("A link asks to call \(proposal.to.text): call") {
                            phone.call(proposal, from: "The link")
                            phone.proposal = nil
                        }
                    }
                }
                ForEach(phone.calls, id: \.uuid) { call in CallRows(phone: phone, call: call) }
                Section("History") {
                    ForEach(phone.history, id: \.id) { past in
                        Text("\(past.isOutgoing ? "→" : "←") \(past.peer)\(past.isMissed ? ", missed" : "")")
                    }
                }
                Button("Sign out") { phone.signOut() }
            }
        }
    }

    private func call(hasVideo: Bool) {
        guard let user = UserID(peer) else { return phone.notice = "This is no user id." }
        phone.ringline?.startCall(to: user, hasVideo: hasVideo)
    }
}

struct SignInRows: View {
    let phone: Phone
    @State private var account = Account()

    var body: some View {
        Section("Sign in") {
            TextField("http://192.168.1.5:8080", text: $account.server)
            TextField("user id", text: $account.user)
            SecureField("token", text: $account.token)
            Button("Sign in") { phone.signIn(account) }
        }
    }
}

/// One call; while it rings, CallKit's own screen is over this one.
struct CallRows: View {
    let phone: Phone
    let call: CallClient.Call
    @State private var isLoud = false

    var body: some View {
        Section(call.displayedPeer.name ?? call.peer.text) {
            Text(call.phase.name.rawValue)
            if let video = phone.videos[call.uuid] { VideoView(track: video).frame(height: 320) }
            if call.isAnswered {
                Button(call.media.audioMuted == true ? "Unmute" : "Mute") {
                    phone.ringline?.setMuted(call.uuid, call.media.audioMuted != true)
                }
                Button(call.media.hold == true ? "Resume" : "Hold") {
                    phone.ringline?.setHeld(call.uuid, call.media.hold != true)
                }
                Button("Add video") { phone.ringline?.addVideo(call.uuid) }
            }
            if call.isAudioOn {
                Button(isLoud ? "Speaker off" : "Speaker on") {
                    isLoud = !isLoud
                    phone.setSpeaker(isLoud)
                }
            }
            Button("End") { phone.ringline?.end(call.uuid) }
        }
    }
}

/// Shows the peer's video.
struct VideoView: UIViewRepresentable {
    let track: RTCVideoTrack

    func makeUIView(context: Context) -> RTCMTLVideoView {
        let view = RTCMTLVideoView()
        track.add(view)
        return view
    }

    func updateUIView(_ view: RTCMTLVideoView, context: Context) {}
}
