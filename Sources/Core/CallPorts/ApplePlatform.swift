/// The platforms of Apple, as apps write them: by the system's name, the device's, or either with a version.
enum ApplePlatform {
    /// The words with which the names of Apple's platforms begin.
    static let beginnings = [
        "ios", "ipad", "iphone", "ipod", "mac", "osx", "watchos", "visionos", "tvos", "apple", "darwin",
    ]

    /// Returns whether a registered platform is one of Apple's: `iOS`, `ipados`, `iPhone15,2`.
    static func isNamed(by platform: String) -> Bool {
        beginnings.contains { word in
            // The bit makes a letter a small one, and leaves the small letters of the words as they are.
            platform.utf8.lazy.map { $0 | 0x20 }.starts(with: word.utf8)
        }
    }
}
