import FoundationEssentials

/// The files of the demo's page: a fixed list, read once.
struct DemoFiles {
    /// A file as a browser gets it.
    struct File {
        let contentType: String
        let bytes: [UInt8]
    }

    /// The files by path.
    let byPath: [String: File]

    /// Reads the files in a folder, or in the place where this executable's build or package has them.
    init(in folder: String?) throws(UsageError) {
        let places = folder.map { [$0] } ?? Self.places
        let found = places.first { FileManager.default.fileExists(atPath: "\($0)/demo/index.html") }
        guard let place = found ?? folder else {
            throw UsageError("--pages: missing: run Sources/RinglineJS/build, or name the folder of the page's files")
        }
        var byPath: [String: File] = [:]
        for path in Self.paths {
            let name = path == "/" ? "/demo/index.html" : path
            guard let data = FileManager.default.contents(atPath: place + name) else {
                throw UsageError("--pages: \(place)\(name) cannot be read: run Sources/RinglineJS/build")
            }
            byPath[path] = File(contentType: Self.contentType(of: name), bytes: Array(data))
        }
        self.byPath = byPath
    }

    /// The paths that are served, and no other.
    private static let paths =
        ["/", "/ringline.wasm", "/demo/demo.css"]
        + ["demo", "phone", "media", "network", "ladder", "server"].map { "/demo/\($0).js" }
        + ["ringline", "call", "connection", "core", "engine", "reconnection", "server"].map { "/\($0).js" }

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
