package com.example.phone

import com.google.firebase.messaging.FirebaseMessagingService
import com.google.firebase.messaging.RemoteMessage
import kotlinx.coroutines.launch

/** Takes Firebase's messages; Android gives each a few seconds. */
class CallMessages : FirebaseMessagingService() {
    override fun onNewToken(token: String) = Registration.enqueue(this)

    override fun onMessageReceived(message: RemoteMessage) {
        val data = message.data
        val peer = data["fromUserId"] ?: return
        val name = data["fromDisplayName"] ?: peer
        when (data["type"]) {
            "call.incoming" -> ring(call(data, peer, name) ?: return, message)
            "call.over", "call.missed" -> {
                val key = PhoneCall.keyOf(peer, data["callId"] ?: return, data["epoch"]?.toIntOrNull() ?: return)
                // `end` lets the service stop ringing, if this process has the call.
                Calls[key]?.end(data["reason"] ?: "missed")
                CallNotifications.remove(this, key)
                if (data["type"] == "call.missed") CallNotifications.missed(this, key, name)
            }
            "message" -> CallNotifications.text(this, name, data["body"] ?: return)
        }
    }

    private fun call(data: Map<String, String>, peer: String, name: String): PhoneCall? {
        val ringUntil = data["ringUntil"]?.toLongOrNull() ?: return null
        val sentAt = data["sentAt"]?.toLongOrNull() ?: return null
        // The device's clock may be slow: it never rings for longer than the server would.
        val left = minOf(ringUntil - System.currentTimeMillis(), ringUntil - sentAt)
        val call = PhoneCall(
            peer = peer,
            callId = data["callId"] ?: return null,
            epoch = data["epoch"]?.toIntOrNull() ?: return null,
            name = name,
            isOutgoing = false,
            ringUntil = System.currentTimeMillis() + left,
            act = data["act"],
            handle = data["handle"] ?: peer,
            handleType = data["handleType"] ?: "generic",
            isScheduled = data["scheduled"] == "true",
        )
        call.offer = data["offer"]
        return call
    }

    private fun ring(call: PhoneCall, message: RemoteMessage) {
        val server = phone.server
        val isLowered = message.priority != message.originalPriority
        when {
            // The push is for a user who was signed in before.
            message.data["toUserId"] != phone.login.user -> phone.scope.launch { server.silenced(call, "otherUser") }
            // Known by an earlier push or by the connection, or over.
            !Calls.add(call) -> return
            call.ringUntil <= System.currentTimeMillis() -> {
                call.end("missed")
                CallNotifications.missed(this, call.key, call.name)
            }
            // The example has one call at a time.
            Calls.current !== call -> {
                call.end("full")
                phone.scope.launch { server.silenced(call, "full") }
            }
            message.priority == RemoteMessage.PRIORITY_HIGH -> CallService.start(this, call)
            // Firebase has lowered the priority: the system refuses to start a foreground service.
            else -> {
                CallNotifications.incoming(this, call)
                phone.scope.launch { server.ringing(call, isLowered) }
            }
        }
    }
}
