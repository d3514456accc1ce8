import CallClient
import CallCore
import Foundation
import RinglineCallKit
import RinglineKit
import SwiftUI
import UIKit

@main
struct PhoneApp: App {
    @UIApplicationDelegateAdaptor(AppDelegate.self) private var delegate
    @Environment(\.scenePhase) private var phase

    var body: some Scene {
        WindowGroup {
            PhoneScreen(phone: delegate.phone)
                // A call from the list of recent calls, or from Siri.
                .onContinueUserActivity("INStartCallIntent") { activity in
                    delegate.phone.call(DialRequest(activity), from: "The list of recent calls, or Siri,")
                }
                // iOS may open the app for a link without asking: the user confirms the call.
                .onOpenURL { url in
                    delegate.phone.proposal = DialRequest(url: url)
                    if delegate.phone.proposal == nil { delegate.phone.notice = "This link names nobody to call." }
                }
        }
        .onChange(of: phase) { phase in delegate.phone.ringline?.isInForeground = phase != .background }
    }
}

final class AppDelegate: NSObject, UIApplicationDelegate {
    // Made before anything else and kept as long as the app runs: pushes come right after the launch, and the app must
    // report each, also while nobody is signed in.
    let system = CallKitSystem()
    private(set) lazy var phone = Phone(system)

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        if let account = Keychain.account { phone.signIn(account) }
        phone.ringline?.isInForeground = application.applicationState != .background
        // For notifications of missed calls; PushKit's token for calls comes from `system`.
        application.registerForRemoteNotifications()
        return true
    }

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
        phone.alertToken = token.map { String(format: "%02x", $0) }.joined()
    }
}
