package com.example.phone

import java.io.IOException
import java.net.URLEncoder
import java.util.UUID
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.delay
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody
import org.json.JSONArray
import org.json.JSONException
import org.json.JSONObject

/** The requests to the server. */
class Server(private val login: Login) {
    /** `GET` waits up to 30 s for an answer, and OkHttp's pings watch over the WebSocket. */
    val client: OkHttpClient = OkHttpClient.Builder()
        .readTimeout(40, TimeUnit.SECONDS)
        .pingInterval(20, TimeUnit.SECONDS)
        .build()

    /** What the server answered. */
    class Reply(val status: Int, val body: JSONObject, val retryAfter: Long) {
        val isGood get() = status in 200..299
        /** Whether the same request may succeed later. */
        val isTemporary get() = status == 429 || status >= 500
        val code: String get() = body.optString("code")
    }

    suspend fun register(fcmToken: String): Reply {
        val body = JSONObject().put("fcm_token", fcmToken).put("platform", "android").put("deviceId", login.device)
        return send("PUT", "/api/me/devices", null, body)
    }

    suspend fun unregister() = attempt { send("DELETE", "/api/me/devices/${login.device}", null) }

    /** Says that the device rings. */
    suspend fun ringing(call: PhoneCall, isLowered: Boolean) {
        val data = JSONObject()
        // Then `ringline explain` says that Firebase has lowered the priority.
        if (isLowered) data.put("priority", "normal")
        signal(call, "ringing", data)
    }

    /** Says that the device does not show the call, and why: the others ring on. */
    suspend fun silenced(call: PhoneCall, why: String) =
        signal(call, "ringing", JSONObject().put("shown", false).put("why", why))

    suspend fun offer(call: PhoneCall, sdp: String) = signal(call, "offer", JSONObject().put("sdp", sdp))

    /** Answers; a scheduled call has no SDP. */
    suspend fun answer(call: PhoneCall, sdp: String?) = signal(call, "answer", JSONObject().putOpt("sdp", sdp))

    suspend fun candidate(call: PhoneCall, candidate: JSONObject) =
        signal(call, "ice", JSONObject().put("candidate", candidate))

    suspend fun connected(call: PhoneCall) = signal(call, "connected", JSONObject())

    /** Fetches the call; waits up to 30 s for something new after the entry `since`. */
    suspend fun fetch(call: PhoneCall, since: Long?): Reply? {
        val from = if (since == null) "" else "&epoch=${call.epoch}&since=$since&wait=30"
        return attempt(mayBeUnknown = true) { send("GET", "/api/calls/signal?callId=${encoded(call.callId)}$from", call.act) }
    }

    /** Declines, cancels or hangs up: the server finds the reason that fits. Without a network, it ends the call later. */
    suspend fun end(call: PhoneCall) = attempt {
        val whose = "peer=${encoded(call.peer)}&device=${login.device}"
        send("DELETE", "/api/calls/signal/${encoded(call.callId)}?$whose", call.act)
    }

    /** The STUN and TURN servers; none if the server names none. */
    suspend fun iceServers(): JSONArray =
        attempt { send("GET", "/api/turn-cred", null) }?.body?.optJSONArray("iceServers") ?: JSONArray()

    /** Sends a signal until the server has it or refuses it; the same id makes sure that nothing happens twice. */
    private suspend fun signal(call: PhoneCall, action: String, data: JSONObject): Reply? = call.sending.withLock {
        val body = JSONObject()
            .put("callId", call.callId)
            // The server gives a new call its epoch.
            .putOpt("epoch", call.epoch.takeIf { action != "offer" })
            .put("to", call.peer)
            .put("deviceId", login.device)
            .put("id", UUID.randomUUID().toString())
            .put("action", action)
            .put("data", data)
        val reply = attempt(mayBeUnknown = true) { send("POST", "/api/calls/signal", call.act, body) }
        // The call is over, or another device has it.
        if (reply?.status == 409) call.end(reply.code)
        reply
    }

    /**
     * Makes a request until there is an answer that will not change; `null` = there was none in half a minute. A server
     * that was killed may not know a call at first: with `mayBeUnknown`, 404 is no such answer.
     */
    private suspend fun attempt(mayBeUnknown: Boolean = false, request: suspend () -> Reply): Reply? {
        var last: Reply? = null
        for (pause in longArrayOf(250, 500, 1000, 2000, 4000, 8000, 8000)) {
            val reply = try {
                request()
            } catch (error: IOException) {
                null
            }
            if (reply != null && !reply.isTemporary && !(mayBeUnknown && reply.status == 404)) return reply
            last = reply ?: last
            delay(maxOf(pause, reply?.retryAfter ?: 0L))
        }
        return last
    }

    /** `act` is what a push allows for its call; without it, the user's token is used, and a new one if it is refused. */
    private suspend fun send(method: String, path: String, act: String?, body: JSONObject? = null): Reply {
        if (act != null) {
            val reply = exchange(method, path, "Ring $act", body)
            if (reply.status != 401) return reply
        }
        val token = login.token() ?: throw IOException("nobody is signed in")
        val reply = exchange(method, path, "Bearer $token", body)
        if (reply.status != 401) return reply
        val renewed = login.token(refused = token) ?: return reply
        return exchange(method, path, "Bearer $renewed", body)
    }

    private suspend fun exchange(method: String, path: String, authorization: String, body: JSONObject?): Reply =
        withContext(Dispatchers.IO) {
            val request = Request.Builder()
                .url(login.server + path)
                .header("Authorization", authorization)
                .method(method, body?.toString()?.toRequestBody("application/json".toMediaType()))
                .build()
            client.newCall(request).execute().use { response ->
                val text = response.body?.string() ?: ""
                val json = try {
                    JSONObject(text)
                } catch (error: JSONException) {
                    JSONObject()
                }
                Reply(response.code, json, 1000 * (response.header("Retry-After")?.toLongOrNull() ?: 0L))
            }
        }

    private fun encoded(text: String): String = URLEncoder.encode(text, "UTF-8").replace("+", "%20")
}
