#if canImport(CallKit) && canImport(Intents) && !os(macOS)
import CallClient
public import Intents
public import RinglineKit

#if canImport(Darwin)
public import Foundation
#else
import Foundation
#endif

extension DialRequest {
    /// Reads the call that Siri, the list of recent calls or a contact's card asks for; `nil` = the activity is for something
    /// else, or names no user id.
    ///
    /// Take the activity from SwiftUI's `onContinueUserActivity`, from `scene(_:continue:)` or from a scene's connection
    /// options, and hand the request to `Ringline.startCall(_:)`. `Info.plist` needs `INStartCallIntent` in
    /// `NSUserActivityTypes`. The source is
    /// [INStartCallIntent](https://developer.apple.com/documentation/intents/instartcallintent). For a link on a web page,
    /// see `init(url:)`.
    public init?(_ activity: NSUserActivity) {
        guard let intent = activity.interaction?.intent as? INStartCallIntent,
            let handle = intent.contacts?.first?.personHandle, let text = handle.value
        else { return nil }
        let type: CallClient.HandleType =
            switch handle.type {
            case .phoneNumber: .phoneNumber
            case .emailAddress: .emailAddress
            default: .generic
            }
        self.init(handle: text, hasVideo: intent.callCapability == .videoCall, handleType: type)
    }

    /// Returns the address that Siri, the list of recent calls or a contact's card asks to call, for an app that looks its
    /// users up by their addresses; `nil` = the activity is for something else.
    public static func handle(of activity: NSUserActivity) -> String? {
        (activity.interaction?.intent as? INStartCallIntent)?.contacts?.first?.personHandle?.value
    }
}
#endif
