package com.example.phone

import android.annotation.SuppressLint
import android.app.Notification
import android.app.PendingIntent
import android.content.Context
import android.content.Intent
import android.media.AudioAttributes
import android.media.RingtoneManager
import androidx.core.app.NotificationChannelCompat
import androidx.core.app.NotificationCompat
import androidx.core.app.NotificationManagerCompat
import androidx.core.app.Person

/** What the system shows of calls outside the app. */
object CallNotifications {
    private const val RINGING = "ringing"
    private const val ONGOING = "ongoing"
    private const val MISSED = "missed"

    fun createChannels(context: Context) {
        val ringtone = RingtoneManager.getDefaultUri(RingtoneManager.TYPE_RINGTONE)
        val use = AudioAttributes.Builder().setUsage(AudioAttributes.USAGE_NOTIFICATION_RINGTONE).build()
        val importance = NotificationManagerCompat.IMPORTANCE_HIGH
        NotificationManagerCompat.from(context).createNotificationChannelsCompat(
            listOf(
                NotificationChannelCompat.Builder(RINGING, importance).setName("Incoming calls").setSound(ringtone, use)
                    .setVibrationEnabled(true).build(),
                NotificationChannelCompat.Builder(ONGOING, NotificationManagerCompat.IMPORTANCE_DEFAULT)
                    .setName("Calls").setSound(null, null).build(),
                NotificationChannelCompat.Builder(MISSED, NotificationManagerCompat.IMPORTANCE_DEFAULT)
                    .setName("Missed calls and texts").build(),
            )
        )
    }

    /** A call that rings here. */
    fun ringing(context: Context, call: PhoneCall, isOfService: Boolean): Notification {
        val caller = Person.Builder().setName(call.name).setImportant(true).build()
        val answer = CallActivity.intent(context, call, CallActivity.ANSWER)
        val decline = CallService.decline(context, call)
        val builder = NotificationCompat.Builder(context, RINGING)
            .setSmallIcon(android.R.drawable.sym_call_incoming)
            .setContentTitle(call.name)
            .setContentText("Incoming call")
            .setCategory(NotificationCompat.CATEGORY_CALL)
            .setPriority(NotificationCompat.PRIORITY_HIGH)
            .setOngoing(true)
            .setFullScreenIntent(CallActivity.intent(context, call, Intent.ACTION_VIEW), true)
        // The system refuses this style without a foreground service, unless a full-screen intent is allowed.
        if (isOfService) builder.setStyle(NotificationCompat.CallStyle.forIncomingCall(caller, decline, answer))
        else builder.addAction(0, "Decline", decline).addAction(0, "Answer", answer)
        builder.setTimeoutAfter(call.ringUntil - System.currentTimeMillis())
        // The ringtone is played again until somebody reacts.
        return builder.build().apply { flags = flags or Notification.FLAG_INSISTENT }
    }

    /** A call that is made, or that goes on. */
    fun ongoing(context: Context, call: PhoneCall): Notification {
        val peer = Person.Builder().setName(call.name).setImportant(true).build()
        val hangUp: PendingIntent = CallService.decline(context, call)
        return NotificationCompat.Builder(context, ONGOING)
            .setSmallIcon(android.R.drawable.sym_call_outgoing)
            .setContentTitle(call.name)
            .setCategory(NotificationCompat.CATEGORY_CALL)
            .setOngoing(true)
            .setContentIntent(CallActivity.intent(context, call, Intent.ACTION_VIEW))
            .setStyle(NotificationCompat.CallStyle.forOngoingCall(peer, hangUp))
            .build()
    }

    /** Shows a call that rings, where no service may start. */
    fun incoming(context: Context, call: PhoneCall) =
        show(context, call.key, ringing(context, call, isOfService = false))

    fun missed(context: Context, key: String, name: String) {
        val builder = NotificationCompat.Builder(context, MISSED).setSmallIcon(android.R.drawable.sym_call_missed)
        show(context, key, builder.setContentTitle("Missed call").setContentText(name).setAutoCancel(true).build())
    }

    fun text(context: Context, name: String, body: String) {
        val builder = NotificationCompat.Builder(context, MISSED).setSmallIcon(android.R.drawable.sym_action_chat)
        show(context, "text/$name", builder.setContentTitle(name).setContentText(body).setAutoCancel(true).build())
    }

    fun remove(context: Context, key: String) = NotificationManagerCompat.from(context).cancel(id(key))

    /** The number under which the system knows the notification of a call. */
    fun id(key: String) = key.hashCode() or 1

    /** Whether the system shows notifications of this app at all. */
    fun areShown(context: Context) = NotificationManagerCompat.from(context).areNotificationsEnabled()

    @SuppressLint("MissingPermission") // `areShown` knows whether the user has granted it.
    private fun show(context: Context, key: String, notification: Notification) {
        if (areShown(context)) NotificationManagerCompat.from(context).notify(id(key), notification)
    }
}
