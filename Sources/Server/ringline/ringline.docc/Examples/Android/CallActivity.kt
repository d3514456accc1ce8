package com.example.phone

import android.Manifest
import android.app.PendingIntent
import android.content.Context
import android.content.Intent
import android.os.Bundle
import android.widget.Button
import android.widget.LinearLayout
import android.widget.TextView
import androidx.activity.ComponentActivity
import androidx.activity.result.contract.ActivityResultContracts
import androidx.lifecycle.lifecycleScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.launch

/** The screen of a call, also over the lock screen. */
class CallActivity : ComponentActivity() {
    private val permission = registerForActivityResult(ActivityResultContracts.RequestPermission()) { isGranted ->
        if (isGranted) call?.let { CallService.start(this, it, CallService.ANSWER) }
    }
    private var call: PhoneCall? = null
    private var watching: Job? = null
    private lateinit var text: TextView
    private lateinit var answer: Button

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        text = TextView(this).apply { textSize = 32f }
        answer = Button(this).apply {
            setText("Answer")
            setOnClickListener { permission.launch(Manifest.permission.RECORD_AUDIO) }
        }
        val end = Button(this).apply {
            setText("End")
            setOnClickListener { call?.let { CallService.decline(this@CallActivity, it).send() } ?: finish() }
        }
        val column = LinearLayout(this).apply { orientation = LinearLayout.VERTICAL }
        for (view in listOf(text, answer, end)) column.addView(view)
        column.fitsSystemWindows = true
        setContentView(column)
        take(intent)
    }

    override fun onNewIntent(intent: Intent) {
        super.onNewIntent(intent)
        take(intent)
    }

    private fun take(intent: Intent) {
        val call = Calls[intent.getStringExtra(KEY)] ?: return finish()
        this.call = call
        watching?.cancel()
        watching = lifecycleScope.launch {
            call.state.collect { state ->
                text.text = "${call.name}\n${state.name.lowercase()}"
                answer.isEnabled = state == CallState.RINGING
                if (state == CallState.ENDED) finish()
            }
        }
        // The permission is granted at once if the user has granted it before.
        if (intent.action == ANSWER) permission.launch(Manifest.permission.RECORD_AUDIO)
    }

    companion object {
        const val ANSWER = "answer"
        private const val KEY = "key"

        /** Since Android 12, a notification's button may not start an activity by way of a service. */
        fun intent(context: Context, call: PhoneCall, action: String): PendingIntent {
            val intent = Intent(context, CallActivity::class.java).setAction(action).putExtra(KEY, call.key)
            intent.addFlags(Intent.FLAG_ACTIVITY_NEW_TASK)
            val flags = PendingIntent.FLAG_IMMUTABLE or PendingIntent.FLAG_UPDATE_CURRENT
            return PendingIntent.getActivity(context, CallNotifications.id(call.key), intent, flags)
        }
    }
}
