package com.example.phone

import android.Manifest
import android.app.NotificationManager
import android.content.Intent
import android.net.Uri
import android.os.Build
import android.os.Bundle
import android.provider.Settings
import android.widget.Button
import android.widget.EditText
import android.widget.LinearLayout
import androidx.activity.ComponentActivity
import androidx.activity.result.contract.ActivityResultContracts

/** Signs a user in, and makes calls. */
class MainActivity : ComponentActivity() {
    private val permissions = registerForActivityResult(ActivityResultContracts.RequestMultiplePermissions()) {}

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        val server = field("https://calls.example.com", phone.login.server)
        val user = field("your user id", phone.login.user ?: "")
        val token = field("your token", "")
        val peer = field("the user id to call", "")
        val column = LinearLayout(this).apply { orientation = LinearLayout.VERTICAL }
        column.fitsSystemWindows = true
        for (view in listOf(server, user, token)) column.addView(view)
        column.addView(button("Sign in") {
            phone.login.signIn("${server.text}".trimEnd('/'), "${user.text}", "${token.text}".trim())
            phone.connection.open()
            askForPermissions()
        })
        column.addView(peer)
        column.addView(button("Call") {
            val call = PhoneCall.outgoing("${peer.text}")
            // Without a peer there is nobody to call, and one call is enough.
            if (peer.text.isEmpty() || Calls.current != null || !Calls.add(call)) return@button
            CallService.start(this, call)
            CallActivity.intent(this, call, Intent.ACTION_VIEW).send()
        })
        setContentView(column)
    }

    override fun onStart() {
        super.onStart()
        phone.isVisible = true
        if (phone.login.user != null) phone.connection.open()
    }

    override fun onStop() {
        phone.isVisible = false
        // From now on the server pushes calls. A call that goes on keeps its connection.
        if (Calls.current == null) phone.connection.close()
        super.onStop()
    }

    /** At the login, not at the first call. */
    private fun askForPermissions() {
        permissions.launch(arrayOf(Manifest.permission.POST_NOTIFICATIONS, Manifest.permission.RECORD_AUDIO))
        if (Build.VERSION.SDK_INT < Build.VERSION_CODES.UPSIDE_DOWN_CAKE) return
        if (getSystemService(NotificationManager::class.java).canUseFullScreenIntent()) return
        val app = Uri.parse("package:$packageName")
        startActivity(Intent(Settings.ACTION_MANAGE_APP_USE_FULL_SCREEN_INTENT, app))
    }

    private fun field(what: String, known: String) = EditText(this).apply {
        hint = what
        setText(known)
    }

    private fun button(title: String, action: () -> Unit) = Button(this).apply {
        setText(title)
        setOnClickListener { action() }
    }
}
