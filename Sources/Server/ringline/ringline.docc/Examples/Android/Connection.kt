package com.example.phone

import android.os.Handler
import android.os.Looper
import kotlin.random.Random
import okhttp3.Request
import okhttp3.Response
import okhttp3.WebSocket
import okhttp3.WebSocketListener
import org.json.JSONObject

/** The WebSocket, on which the server sends what the peer does. Open it while the app is visible, and during a call. */
class Connection(private val phone: PhoneApp) : WebSocketListener() {
    private val main = Handler(Looper.getMainLooper())
    private var socket: WebSocket? = null
    private var isWanted = false
    private var failures = 0

    @Volatile
    var isOpen = false
        private set

    /** Call it on the main thread, as `close`. */
    fun open() {
        isWanted = true
        if (socket != null) return
        val token = phone.login.token() ?: return
        val url = "${phone.login.server}/ws?device=${phone.login.device}"
        val request = Request.Builder().url(url).header("Authorization", "Bearer $token").build()
        socket = phone.server.client.newWebSocket(request, this)
    }

    fun close() {
        isWanted = false
        socket?.close(1000, null)
    }

    override fun onOpen(webSocket: WebSocket, response: Response) {
        isOpen = true
        main.post { failures = 0 }
    }

    override fun onMessage(webSocket: WebSocket, text: String) {
        val frame = JSONObject(text)
        main.post { take(frame) }
    }

    override fun onClosing(webSocket: WebSocket, code: Int, reason: String) {
        webSocket.close(code, null)
    }

    override fun onClosed(webSocket: WebSocket, code: Int, reason: String) = ended(webSocket)

    override fun onFailure(webSocket: WebSocket, t: Throwable, response: Response?) = ended(webSocket)

    /** Connects again after a pause of its own, so that not all devices of a server that restarts come at once. */
    private fun ended(which: WebSocket) {
        isOpen = false
        main.post {
            if (which !== socket) return@post
            socket = null
            val longest = minOf(8000L, 250L shl minOf(failures, 5))
            failures += 1
            if (isWanted) main.postDelayed({ if (isWanted) open() }, Random.nextLong(longest))
        }
    }

    private fun take(frame: JSONObject) {
        val callId = frame.optString("callId")
        val epoch = frame.optInt("epoch")
        val from = frame.optString("from")
        when (frame.optString("type")) {
            "offer" -> takeOffer(frame, Calls[PhoneCall.keyOf(from, callId, epoch)])
            "answer" -> Calls[PhoneCall.keyOf(from, callId, epoch)]?.let { call ->
                if (call.isNew("entry ${frame.optLong("seq")}")) call.media?.takeAnswer(frame.optString("sdp"))
            }
            "ice" -> frame.optJSONObject("candidate")?.let { Calls[PhoneCall.keyOf(from, callId, epoch)]?.add(it) }
            "call" -> if (frame.optString("state") == "ended") {
                // The event names no peer: the call is the live one of this id.
                val call = Calls.current?.takeIf { it.callId == callId && it.epoch == epoch }
                call?.end(frame.optString("reason"))
            }
        }
    }

    private fun takeOffer(frame: JSONObject, known: PhoneCall?) {
        if (known != null) {
            val sdp = frame.optString("sdp")
            if (known.offer == null) known.offer = sdp
            // The peer changes a call that goes on: it adds video, or has another network.
            else if (known.offer != sdp && known.isNew("entry ${frame.optLong("seq")}")) known.media?.takeOffer(sdp)
            return
        }
        val peer = frame.optString("from")
        val call = PhoneCall(
            peer = peer,
            callId = frame.optString("callId"),
            epoch = frame.optInt("epoch"),
            name = frame.optString("displayName", peer),
            isOutgoing = false,
            ringUntil = frame.optLong("ringUntil"),
            handle = frame.optString("handle", peer),
            handleType = frame.optString("handleType", "generic"),
            isScheduled = frame.optBoolean("scheduled"),
        )
        call.offer = frame.optString("sdp")
        if (peer != phone.login.user && Calls.current == null && Calls.add(call)) CallService.start(phone, call)
    }
}
