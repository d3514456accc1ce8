package com.example.phone

import java.util.UUID
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.sync.Mutex
import org.json.JSONObject

enum class CallState { CALLING, RINGING, CONNECTING, ACTIVE, ENDED }

/** One call of this device. */
class PhoneCall(
    val peer: String,
    val callId: String,
    val epoch: Int,
    val name: String,
    val isOutgoing: Boolean,
    /** When ringing stops, in milliseconds since 1970. */
    val ringUntil: Long,
    /** What the push allows without a token; `null` = the call came over the connection, or is the user's own. */
    val act: String? = null,
    val handle: String = peer,
    val handleType: String = "generic",
    val isScheduled: Boolean = false,
) {
    /** Another user may choose the same callId, so the peer belongs to the key. */
    val key = keyOf(peer, callId, epoch)
    val state = MutableStateFlow(if (isOutgoing) CallState.CALLING else CallState.RINGING)
    /** Why the call has ended. */
    var reason: String? = null
    /** The peer's SDP, if it is known. */
    @Volatile var offer: String? = null
    /** The peer's candidates, until the media takes them. */
    val candidates = Channel<JSONObject>(Channel.UNLIMITED)
    /** Keeps the device's signals in order. */
    val sending = Mutex()
    var media: Media? = null
    private val seen = HashSet<String>()

    val isOver get() = state.value == CallState.ENDED

    /** Returns whether this entry of the call's log is a new one; the server sends some again after a reconnect. */
    fun isNew(entry: String): Boolean = synchronized(seen) { seen.add(entry) }

    fun add(candidate: JSONObject) {
        if (isNew("candidate $candidate")) candidates.trySend(candidate)
    }

    fun end(why: String) {
        if (isOver) return
        reason = why
        state.value = CallState.ENDED
    }

    companion object {
        fun keyOf(peer: String, callId: String, epoch: Int) = "$peer/$callId/$epoch"

        fun outgoing(to: String) = PhoneCall(
            peer = to, callId = UUID.randomUUID().toString(), epoch = 1, name = to, isOutgoing = true, ringUntil = 0,
        )
    }
}

/** The calls that this process knows, also those that are over: a push may come twice, late, or in another order. */
object Calls {
    private val known = LinkedHashMap<String, PhoneCall>()
    private const val KEPT = 100

    /** Adds a call; returns false if it is known. */
    @Synchronized
    fun add(call: PhoneCall): Boolean {
        if (known.containsKey(call.key)) return false
        known[call.key] = call
        if (known.size > KEPT) known.values.firstOrNull { it.isOver }?.let { known.remove(it.key) }
        return true
    }

    @Synchronized
    operator fun get(key: String?): PhoneCall? = known[key]

    /** The call that this device is in, or that rings here. */
    @get:Synchronized
    val current: PhoneCall? get() = known.values.firstOrNull { !it.isOver }
}
