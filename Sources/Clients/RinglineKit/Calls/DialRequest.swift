public import CallClient
public import CallCore
public import Foundation

/// A call that something outside the app asks for: a link, Siri, or the list of recent calls.
public struct DialRequest: Equatable, Sendable {
    /// The user to call.
    public var to: UserID
    /// Whether the call has video.
    public var hasVideo: Bool
    /// The account of the earlier call, in an app with several accounts (`CallKitAccount`); `nil` = none is named.
    public var account: UserID?

    /// The text between a user and an account in a handle; no id has a blank.
    package static let accountMark = " · "

    /// Creates a request from its parts.
    public init(to: UserID, hasVideo: Bool = false) {
        self.to = to
        self.hasVideo = hasVideo
    }

    /// Reads a handle, such as the one that the system keeps in its list of recent calls; `nil` = it is no user id.
    ///
    /// A phone number, also one of the kind `generic` that begins with `+`, is read without separators
    /// (`CallClient.HandleType.normalized(_:)`).
    public init?(handle: String, hasVideo: Bool = false, handleType: CallClient.HandleType = .generic) {
        let parts = handle.components(separatedBy: Self.accountMark)
        let number = CallClient.HandleType.phoneNumber.normalized(parts[0])
        // A user id may begin with `00`.
        let isNumber = handleType == .phoneNumber || number.hasPrefix("+") && parts[0].contains("+")
        let text = isNumber ? number : handleType.normalized(parts[0])
        guard parts.count <= 2, let user = UserID(text) else { return nil }
        self.init(to: user, hasVideo: hasVideo)
        if parts.count == 2 { account = UserID(parts[1]) }
    }

    /// Reads a link of your app's own scheme; `nil` = it names no user.
    ///
    /// The forms are `myapp:10`, `myapp:10?video=1`, `myapp://call/10` and `https://example.com/call/10?video=1`: the user id
    /// is the last part of the path. Check first that the link is for a call at all.
    ///
    /// iOS may open the app for a link on a web page without asking the user. So show whom the link will call, and call only
    /// when the user taps.
    public init?(url: URL) {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: false) else { return nil }
        let path = parts.path.split(separator: "/").last.map(String.init) ?? parts.host ?? ""
        let video = parts.queryItems?.first { $0.name == "video" }?.value
        self.init(handle: path, hasVideo: video == "1" || video == "true")
    }
}
