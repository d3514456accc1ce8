package import CallPorts

extension RequestHead {
    /// Returns a part of a path with its escapes resolved.
    package static func decoded(_ part: some StringProtocol) -> String {
        // The escapes were checked when the head was read; a head that was made by hand may have any text.
        RequestTarget.decoded(part.utf8).map { String(decoding: $0, as: UTF8.self) } ?? String(part)
    }
}
