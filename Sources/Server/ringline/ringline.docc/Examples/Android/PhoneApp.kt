package com.example.phone

import android.app.Application
import android.content.Context
import androidx.core.content.edit
import androidx.work.BackoffPolicy
import androidx.work.Constraints
import androidx.work.CoroutineWorker
import androidx.work.ExistingWorkPolicy
import androidx.work.NetworkType
import androidx.work.OneTimeWorkRequestBuilder
import androidx.work.WorkManager
import androidx.work.WorkerParameters
import com.google.firebase.messaging.FirebaseMessaging
import java.io.File
import java.io.IOException
import java.util.UUID
import java.util.concurrent.TimeUnit
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.MainScope
import kotlinx.coroutines.tasks.await

/** What lives as long as the process. */
class PhoneApp : Application() {
    val scope: CoroutineScope = MainScope()
    val login by lazy { Login(this) }
    val server by lazy { Server(login) }
    val connection by lazy { Connection(this) }
    /** Whether the user sees the app: then it keeps a connection, and needs no pushes. */
    var isVisible = false

    override fun onCreate() {
        super.onCreate()
        CallNotifications.createChannels(this)
        if (login.user != null) Registration.enqueue(this)
    }
}

val Context.phone get() = applicationContext as PhoneApp

/** Who is signed in, and the id of this installation. */
class Login(private val context: Context) {
    private val kept = context.getSharedPreferences("login", Context.MODE_PRIVATE)
    /** The address of the server, such as `https://calls.example.com`. */
    val server: String get() = kept.getString("server", null) ?: ""
    /** The user who is signed in; `null` = nobody. */
    val user: String? get() = kept.getString("user", null)

    /** A backup does not hold this folder: two devices with one id would take each other's connection. */
    val device: String by lazy {
        val file = File(context.noBackupFilesDir, "device")
        if (!file.exists()) file.writeText("android-${UUID.randomUUID()}")
        file.readText()
    }

    /** The user's token. An app asks its own backend for a new one if the server has refused the last. */
    fun token(refused: String? = null): String? = kept.getString("token", null).takeIf { it != refused }

    fun signIn(server: String, user: String, token: String) {
        kept.edit {
            putString("server", server)
            putString("user", user)
            putString("token", token)
        }
        Registration.enqueue(context)
    }

    /** Removes the device from the server while the token is still valid; else the device rings for this user. */
    suspend fun signOut() {
        context.phone.connection.close()
        context.phone.server.unregister()
        kept.edit { clear() }
    }
}

/** Tells the server Firebase's token: at each start, at each login, and when Firebase has changed it. */
class Registration(context: Context, parameters: WorkerParameters) : CoroutineWorker(context, parameters) {
    override suspend fun doWork(): Result {
        val phone = applicationContext.phone
        if (phone.login.user == null) return Result.success()
        return try {
            val reply = phone.server.register(FirebaseMessaging.getInstance().token.await())
            if (reply.isTemporary) Result.retry() else Result.success()
        } catch (error: IOException) {
            Result.retry()
        }
    }

    companion object {
        fun enqueue(context: Context) {
            val request = OneTimeWorkRequestBuilder<Registration>()
                .setConstraints(Constraints.Builder().setRequiredNetworkType(NetworkType.CONNECTED).build())
                .setBackoffCriteria(BackoffPolicy.EXPONENTIAL, 10, TimeUnit.SECONDS)
                .build()
            WorkManager.getInstance(context).enqueueUniqueWork("registration", ExistingWorkPolicy.REPLACE, request)
        }
    }
}
