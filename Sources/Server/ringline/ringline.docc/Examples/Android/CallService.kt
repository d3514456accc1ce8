package com.example.phone

import android.Manifest
import android.app.PendingIntent
import android.app.Service
import android.content.Context
import android.content.Intent
import android.content.pm.PackageManager
import android.content.pm.ServiceInfo
import android.os.Build
import android.os.IBinder
import androidx.core.app.ServiceCompat
import androidx.core.content.ContextCompat
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.MainScope
import kotlinx.coroutines.cancel
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import org.json.JSONArray

/** Keeps the process running while a call rings and during a call, and carries out what the user does. */
class CallService : Service() {
    private val scope = MainScope()
    private var call: PhoneCall? = null

    override fun onBind(intent: Intent?): IBinder? = null

    override fun onStartCommand(intent: Intent?, flags: Int, startId: Int): Int {
        val named = Calls[intent?.getStringExtra(KEY)]
        if (named != null && call == null) begin(named)
        when {
            named == null || named !== call -> if (call == null) stopSelf()
            intent?.action == ANSWER -> answer(named)
            intent?.action == DECLINE -> hangUp(named)
        }
        return START_NOT_STICKY
    }

    override fun onDestroy() {
        scope.cancel()
        super.onDestroy()
    }

    private fun begin(call: PhoneCall) {
        this.call = call
        showInForeground(call)
        phone.connection.open()
        // Watches, headsets, cars and other apps with calls learn of the call, and may answer or end it.
        scope.launch { showInTelecom(call) }
        scope.launch { call.state.collect { if (it == CallState.ENDED) end(call) else showInForeground(call) } }
        if (call.isOutgoing) dial(call) else ring(call)
    }

    private suspend fun showInTelecom(call: PhoneCall) = try {
        Telecom.show(this, call, ::answer, ::hangUp)
    } catch (error: CancellationException) {
        throw error
    } catch (error: RuntimeException) {
        // The system takes no call now, such as during an emergency call: this one goes on without it.
    }

    /** Rings until the end of the call, an answer, or `ringUntil`. */
    private fun ring(call: PhoneCall) {
        scope.launch {
            if (CallNotifications.areShown(this@CallService)) phone.server.ringing(call, isLowered = false)
            else phone.server.silenced(call, "system")
        }
        scope.launch {
            delay(call.ringUntil - System.currentTimeMillis())
            if (call.state.value == CallState.RINGING) call.end("missed")
        }
        // As long as there is no connection, long polls bring the end of the call, and what the push had no room for.
        scope.launch {
            var since: Long? = null
            while (!call.isOver && !(phone.connection.isOpen && call.offer != null)) {
                val reply = phone.server.fetch(call, since)
                // Without a network, and without a good answer, the ring goes on until its end.
                if (reply == null || !reply.isGood) {
                    delay(1000)
                    continue
                }
                since = reply.body.optLong("next")
                take(reply, call)
            }
        }
    }

    private fun take(reply: Server.Reply, call: PhoneCall) {
        if (call.offer == null) call.offer = reply.body.optJSONObject("offer")?.optString("sdp")
        val candidates = reply.body.optJSONArray("candidates") ?: JSONArray()
        for (place in 0 until candidates.length()) candidates.optJSONObject(place)?.let(call::add)
        if (reply.body.optString("state") == "ended") call.end(reply.body.optString("reason"))
    }

    private fun dial(call: PhoneCall) {
        scope.launch {
            val media = Media(this@CallService, call, phone.server, scope, phone.server.iceServers())
            call.media = media
            media.makeOffer()
        }
    }

    private fun answer(call: PhoneCall) {
        if (call.state.value != CallState.RINGING) return
        call.state.value = CallState.CONNECTING
        scope.launch {
            if (call.isScheduled) {
                // The server itself calls: there is nobody to talk to, and no SDP. The app plays a sound of its own.
                phone.server.answer(call, null)
                phone.server.connected(call)
                if (!call.isOver) call.state.value = CallState.ACTIVE
                return@launch
            }
            val media = Media(this@CallService, call, phone.server, scope, phone.server.iceServers())
            call.media = media
            while (call.offer == null && !call.isOver) phone.server.fetch(call, null)?.let { take(it, call) } ?: break
            val offer = call.offer
            if (offer == null || !media.makeAnswer(offer)) hangUp(call)
        }
    }

    private fun hangUp(call: PhoneCall) {
        // The request outlives this service.
        phone.scope.launch { phone.server.end(call) }
        call.end(if (call.state.value == CallState.RINGING) "declined" else "hangup")
    }

    private fun end(call: PhoneCall) {
        call.media?.close()
        call.media = null
        CallNotifications.remove(this, call.key)
        ServiceCompat.stopForeground(this, ServiceCompat.STOP_FOREGROUND_REMOVE)
        if (call.reason == "missed") CallNotifications.missed(this, call.key, call.name)
        this.call = null
        if (!phone.isVisible) phone.connection.close()
        stopSelf()
    }

    private fun showInForeground(call: PhoneCall) {
        val isRinging = call.state.value == CallState.RINGING
        val notification =
            if (isRinging) CallNotifications.ringing(this, call, isOfService = true)
            else CallNotifications.ongoing(this, call)
        val id = CallNotifications.id(call.key)
        try {
            ServiceCompat.startForeground(this, id, notification, if (isRinging) ringingType() else talkingType())
        } catch (error: SecurityException) {
            // The user has answered on a watch, say, and the app is not visible: then the system gives no microphone.
            ServiceCompat.startForeground(this, id, notification, ringingType())
        }
    }

    private fun ringingType(): Int =
        if (Build.VERSION.SDK_INT < Build.VERSION_CODES.Q) 0 else ServiceInfo.FOREGROUND_SERVICE_TYPE_PHONE_CALL

    /** An app in the background may not start a service that uses the microphone: not before the user has answered. */
    private fun talkingType(): Int {
        val permission = ContextCompat.checkSelfPermission(this, Manifest.permission.RECORD_AUDIO)
        val mayRecord = permission == PackageManager.PERMISSION_GRANTED
        if (!mayRecord || Build.VERSION.SDK_INT < Build.VERSION_CODES.R) return ringingType()
        return ServiceInfo.FOREGROUND_SERVICE_TYPE_PHONE_CALL or ServiceInfo.FOREGROUND_SERVICE_TYPE_MICROPHONE
    }

    companion object {
        const val ANSWER = "answer"
        private const val DECLINE = "decline"
        private const val KEY = "key"

        private fun intent(context: Context, call: PhoneCall, action: String?) =
            Intent(context, CallService::class.java).setAction(action).putExtra(KEY, call.key)

        /** Starts the service for a call that rings, that the user makes, or that the user has answered. */
        fun start(context: Context, call: PhoneCall, action: String? = null) =
            ContextCompat.startForegroundService(context, intent(context, call, action))

        /** What the button of a notification does: declines, cancels or hangs up. */
        fun decline(context: Context, call: PhoneCall): PendingIntent {
            val flags = PendingIntent.FLAG_IMMUTABLE or PendingIntent.FLAG_UPDATE_CURRENT
            return PendingIntent.getService(context, CallNotifications.id(call.key), intent(context, call, DECLINE), flags)
        }
    }
}
