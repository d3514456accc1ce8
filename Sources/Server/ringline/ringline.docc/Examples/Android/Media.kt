package com.example.phone

import android.content.Context
import java.util.concurrent.atomic.AtomicReference
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.launch
import org.json.JSONArray
import org.json.JSONObject
import org.webrtc.DataChannel
import org.webrtc.IceCandidate
import org.webrtc.MediaConstraints
import org.webrtc.MediaStream
import org.webrtc.PeerConnection
import org.webrtc.PeerConnectionFactory
import org.webrtc.SdpObserver
import org.webrtc.SessionDescription

/** The sound of one call: a peer connection with the microphone. All functions belong to the main thread. */
class Media(
    context: Context,
    private val call: PhoneCall,
    private val server: Server,
    private val scope: CoroutineScope,
    iceServers: JSONArray,
) : PeerConnection.Observer {
    private val connection: PeerConnection
    private var hasRemote = false
    /** Complete once the peer has this side's description, for which its candidates are. */
    private val isDescribed = CompletableDeferred<Unit>()

    init {
        val factory = sharedFactory(context)
        val configuration = PeerConnection.RTCConfiguration(servers(iceServers))
        configuration.sdpSemantics = PeerConnection.SdpSemantics.UNIFIED_PLAN
        connection = checkNotNull(factory.createPeerConnection(configuration, this)) { "no peer connection" }
        val source = factory.createAudioSource(MediaConstraints())
        connection.addTrack(factory.createAudioTrack("audio", source), listOf("stream"))
    }

    /** Makes the offer of an outgoing call, and sends it. */
    suspend fun makeOffer() {
        val description = created { connection.createOffer(it, MediaConstraints()) } ?: return fail()
        done { connection.setLocalDescription(it, description) }
        server.offer(call, description.description)
        isDescribed.complete(Unit)
    }

    /** Answers the peer's offer; returns whether the answer was possible. */
    suspend fun makeAnswer(offer: String): Boolean {
        if (!done { connection.setRemoteDescription(it, SessionDescription(SessionDescription.Type.OFFER, offer)) }) {
            return false
        }
        takeCandidates()
        val description = created { connection.createAnswer(it, MediaConstraints()) } ?: return false
        done { connection.setLocalDescription(it, description) }
        val isTaken = server.answer(call, description.description)?.isGood == true
        isDescribed.complete(Unit)
        return isTaken
    }

    fun takeAnswer(sdp: String) {
        scope.launch {
            if (call.state.value == CallState.CALLING) call.state.value = CallState.CONNECTING
            val description = SessionDescription(SessionDescription.Type.ANSWER, sdp)
            if (done { connection.setRemoteDescription(it, description) }) takeCandidates() else fail()
        }
    }

    /** Takes an offer that changes the call. */
    fun takeOffer(sdp: String) {
        scope.launch { makeAnswer(sdp) }
    }

    fun close() {
        connection.dispose()
    }

    private fun fail() {
        scope.launch { server.end(call) }
        call.end("failed")
    }

    /** From the first description of the peer on, its candidates can be added. */
    private fun takeCandidates() {
        if (hasRemote) return
        hasRemote = true
        scope.launch {
            for (one in call.candidates) {
                val line = one.optInt("sdpMLineIndex")
                if (!call.isOver) {
                    connection.addIceCandidate(IceCandidate(one.optString("sdpMid"), line, one.optString("candidate")))
                }
            }
        }
    }

    // What WebRTC reports, on a thread of its own.

    override fun onIceCandidate(candidate: IceCandidate) {
        val json = JSONObject()
            .put("candidate", candidate.sdp)
            .put("sdpMid", candidate.sdpMid)
            .put("sdpMLineIndex", candidate.sdpMLineIndex)
        scope.launch {
            isDescribed.await()
            if (!call.isOver) server.candidate(call, json)
        }
    }

    override fun onConnectionChange(newState: PeerConnection.PeerConnectionState) {
        scope.launch {
            when (newState) {
                PeerConnection.PeerConnectionState.CONNECTED -> if (call.state.value == CallState.CONNECTING) {
                    call.state.value = CallState.ACTIVE
                    server.connected(call)
                }
                PeerConnection.PeerConnectionState.FAILED -> fail()
                else -> {}
            }
        }
    }

    override fun onSignalingChange(newState: PeerConnection.SignalingState) {}
    override fun onIceConnectionChange(newState: PeerConnection.IceConnectionState) {}
    override fun onIceConnectionReceivingChange(receiving: Boolean) {}
    override fun onIceGatheringChange(newState: PeerConnection.IceGatheringState) {}
    override fun onIceCandidatesRemoved(candidates: Array<IceCandidate>) {}
    override fun onAddStream(stream: MediaStream) {}
    override fun onRemoveStream(stream: MediaStream) {}
    override fun onDataChannel(channel: DataChannel) {}
    override fun onRenegotiationNeeded() {}

    /** Waits for one operation of WebRTC. */
    private class Waiting : SdpObserver {
        val result = CompletableDeferred<SessionDescription?>()
        val isDone = CompletableDeferred<Boolean>()

        override fun onCreateSuccess(description: SessionDescription) {
            result.complete(description)
        }
        override fun onCreateFailure(error: String) {
            result.complete(null)
        }
        override fun onSetSuccess() {
            isDone.complete(true)
        }
        override fun onSetFailure(error: String) {
            isDone.complete(false)
        }
    }

    private suspend fun created(start: (SdpObserver) -> Unit): SessionDescription? =
        Waiting().also(start).result.await()

    private suspend fun done(start: (SdpObserver) -> Unit): Boolean = Waiting().also(start).isDone.await()

    private companion object {
        private val made = AtomicReference<PeerConnectionFactory?>()

        /** The library is loaded once in a process. */
        fun sharedFactory(context: Context): PeerConnectionFactory = made.get() ?: run {
            val options = PeerConnectionFactory.InitializationOptions.builder(context.applicationContext)
            PeerConnectionFactory.initialize(options.createInitializationOptions())
            PeerConnectionFactory.builder().createPeerConnectionFactory().also(made::set)
        }

        fun servers(list: JSONArray): List<PeerConnection.IceServer> = (0 until list.length()).map { place ->
            val server = list.getJSONObject(place)
            val urls = server.getJSONArray("urls")
            PeerConnection.IceServer.builder((0 until urls.length()).map(urls::getString))
                .setUsername(server.optString("username"))
                .setPassword(server.optString("credential"))
                .createIceServer()
        }
    }
}
