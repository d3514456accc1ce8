/// The entity tags of an `If-None-Match` (RFC 9110, section 13.1.2).
struct EntityTags {
    /// The tags as the header has them; `*` stands for any.
    let tags: [String]

    init(_ header: String) {
        tags = header.split(separator: ",").map { $0.trimmed }
    }

    /// Whether one of the tags is `tag`; the comparison is weak, as RFC 9110 demands here.
    func matches(_ tag: String) -> Bool {
        tags.contains { $0 == "*" || $0.weak == tag[...].weak }
    }
}

/// The codings of an `Accept-Encoding` (RFC 9110, section 12.5.3).
enum AcceptedCodings {
    /// Whether a response may be compressed with gzip.
    static func includeGzip(_ header: String) -> Bool {
        var accepted: Bool?
        for element in header.split(separator: ",") {
            let parts = element.split(separator: ";").map { $0.trimmed.lowercased() }
            guard let name = parts.first, name == "gzip" || name == "x-gzip" || name == "*" else { continue }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
            // The name itself counts more than the wildcard.
            if name != "*" || accepted == nil { accepted = weight > 0 }
            if name != "*" { return weight > 0 }
        }
        return accepted ?? false
    }
}

extension Substring {
    fileprivate var trimmed: String {
        let blanks: Set<Character> = [" ", "\t"]
        guard let first = firstIndex(where: { !blanks.contains($0) }),
            let last = lastIndex(where: { !blanks.contains($0) })
        else { return "" }
        return String(self[first...last])
    }

    fileprivate var weak: Substring { hasPrefix("W/") ? dropFirst(2) : self }
}

extension String {
    fileprivate var weak: Substring { self[...].weak }
}
