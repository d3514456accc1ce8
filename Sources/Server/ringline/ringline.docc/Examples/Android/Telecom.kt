package com.example.phone

import android.content.Context
import android.net.Uri
import android.telecom.DisconnectCause
import androidx.core.telecom.CallAttributesCompat
import androidx.core.telecom.CallsManager
import kotlinx.coroutines.launch

/** Tells the system of the calls, so that other calls, headsets, watches and cars work with them. */
object Telecom {
    /** Returns when the call is over. The functions are for what the user does outside the app. */
    suspend fun show(context: Context, call: PhoneCall, answered: (PhoneCall) -> Unit, ended: (PhoneCall) -> Unit) {
        val calls = CallsManager(context).apply { registerAppWithTelecom(CallsManager.CAPABILITY_BASELINE) }
        val attributes = CallAttributesCompat(
            displayName = call.name,
            address = Uri.fromParts(if (call.handleType == "phoneNumber") "tel" else "sip", call.handle, null),
            direction =
                if (call.isOutgoing) CallAttributesCompat.DIRECTION_OUTGOING
                else CallAttributesCompat.DIRECTION_INCOMING,
            callType = CallAttributesCompat.CALL_TYPE_AUDIO_CALL,
        )
        calls.addCall(
            attributes,
            onAnswer = { answered(call) },
            onDisconnect = { if (!call.isOver) ended(call) },
            onSetActive = {},
            // Another app's call goes first. This app cannot hold its calls, so it ends them.
            onSetInactive = { ended(call) },
        ) {
            launch {
                call.state.collect { state ->
                    when (state) {
                        CallState.CONNECTING -> if (!call.isOutgoing) answer(CallAttributesCompat.CALL_TYPE_AUDIO_CALL)
                        CallState.ACTIVE -> setActive()
                        CallState.ENDED -> disconnect(DisconnectCause(cause(call.reason)))
                        CallState.CALLING, CallState.RINGING -> {}
                    }
                }
            }
        }
    }

    /** Core-Telecom takes four causes only; any other throws an exception. */
    private fun cause(reason: String?): Int = when (reason) {
        "declined" -> DisconnectCause.REJECTED
        "hangup" -> DisconnectCause.LOCAL
        "missed" -> DisconnectCause.MISSED
        else -> DisconnectCause.REMOTE
    }
}
