public import CallCore
public import Foundation

/// A call that something outside the app asks for: a link, Siri, or the list of recent calls.
public struct DialRequest: Equatable, Sendable {
    /// The user to call.
    public var to: UserID
    /// Whether the call has video.
    public var hasVideo: Bool

    /// Creates a request from its parts.
    public init(to: UserID, hasVideo: Bool = false) {
        self.to = to
        self.hasVideo = hasVideo
    }

    /// Reads a handle, such as the one that the system keeps in its list of recent calls; `nil` = it is no user id.
    public init?(handle: String, hasVideo: Bool = false) {
        guard let user = UserID(handle.trimmingCharacters(in: .whitespaces)) else { return nil }
        self.init(to: user, hasVideo: hasVideo)
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
