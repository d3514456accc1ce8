import CallPorts
import FoundationEssentials
import Identity
import LibWebSockets

/// The files of a page: a fixed list, read once.
struct PageFiles: Sendable {
    /// A page of the package for JavaScript.
    struct Page {
        /// The path of its document, which is served as `/`.
        let index: String
        /// The paths of its other files.
        let paths: [String]
        /// The setting that names the folder, for messages.
        let setting: String
    }

    /// A file as a browser gets it.
    private struct File {
        let contentType: String
        let bytes: [UInt8]
    }

    /// The files by path.
    private let byPath: [String: File]

    /// Reads the files in a folder, or in the place where this executable's build or package has them.
    init(_ page: Page, in folder: String?) throws(UsageError) {
        let places = folder.map { [$0] } ?? Self.places
        let found = places.first { FileManager.default.fileExists(atPath: $0 + page.index) }
        guard let place = found ?? folder else {
            throw UsageError(
                "--\(page.setting): missing: run Sources/Clients/RinglineJS/build, or name the folder of the page's files"
            )
        }
        var byPath: [String: File] = [:]
        for path in ["/"] + page.paths {
            let name = path == "/" ? page.index : path
            do throws(SecretFileError) {
                byPath[path] = File(contentType: Self.contentType(of: name), bytes: try NamedFile.read(place + name))
            } catch {
                let fault = UsageError("--\(page.setting)", place + name, error)
                throw UsageError("\(fault); run Sources/Clients/RinglineJS/build")
            }
        }
        self.byPath = byPath
    }

    /// Returns the response with the file of a path; `nil` = the path names none.
    ///
    /// `policy`: The content security policy.
    func response(at path: String, policy: String) -> Response? {
        byPath[path].map { file in
            Self.response(file.contentType, file.bytes, headers: [.init("Content-Security-Policy", policy)])
        }
    }

    /// Returns a response of a page, which no cache may keep.
    static func response(_ type: String, _ body: [UInt8], headers: [HTTPField] = []) -> Response {
        let common = [
            HTTPField("Cache-Control", "no-store"), .init("X-Content-Type-Options", "nosniff"),
            .init("Referrer-Policy", "no-referrer"),
        ]
        return Response(status: 200, contentType: type, headers: common + headers, body: body)
    }

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "wasm": "application/wasm"
        default: "text/javascript; charset=utf-8"
        }
    }

    /// The places where the files may be: beside a build of a clone, or where a package installs them.
    private static var places: [String] {
        // Without /proc, only the folder of a build is known.
        let executable = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let folder = executable.split(separator: "/").dropLast()
        let above = { (levels: Int) in "/" + folder.dropLast(levels).joined(separator: "/") }
        return ["\(above(2))/javascript", "\(above(1))/share/ringline/javascript", ".build/javascript"]
    }
}

extension ListenAddress {
    /// Whether a host names this machine for itself only.
    static func isLoopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        // `UInt8` alone would also read a number with a sign.
        let isNumber = { (part: Substring) in part.first != "+" && UInt8(part) != nil }
        let isIPv4 = parts.count == 4 && parts[0] == "127" && parts.allSatisfy(isNumber)
        return isIPv4 || host == "::1" || host == "localhost"
    }

    /// Whether a `Host` header names this machine itself, as a browser on this machine sends it.
    ///
    /// A page of the internet may give its own name this machine's address. The browser then sends that name.
    static func isOwn(_ host: String) -> Bool {
        // The names of hosts have no case (RFC 9110, section 4.2.3).
        let host = host.lowercased()
        return (ListenAddress(host) ?? ListenAddress("\(host):80")).map { isLoopback($0.host) } ?? false
    }
}
