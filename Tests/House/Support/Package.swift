/// The targets in `Sources`, as `Package.swift` declares them.
///
/// They are read from the file's text, because `swift package describe` takes seconds and waits for a lock that
/// `swift test` holds.
enum Package {
    /// A target with Swift files.
    struct Module {
        let name: String
        /// The modules that the target depends on: the project's own, C modules, and products of other packages.
        let dependencies: Set<String>
        /// Whether the target is built with the settings `pure`, and thus imports nothing of the system.
        let isPure: Bool
    }

    private static let text = Repository.text(of: "Package.swift")

    /// Every module, by its name.
    static let modules: [String: Module] = {
        let calls = text.matches(
            of:
                /library\(\s*"([\w-]+)"(?:,\s*\[([^\]]*)\](?: \+ appleStubs)?(,\s*pure)?(?:,\s*excluding: \["\w+"\])?)?\s*\)/
        )
        .map {
            Module(name: String($0.1), dependencies: names(in: $0.2), isPure: $0.3 != nil)
        }
        let targets = text.matches(
            of: /\.executableTarget\(\s*name:\s*"([\w-]+)",\s*dependencies:\s*\[([^\]]*)\]([^)]*)/
        )
        .filter { !$0.3.contains("path:") }
        .map { Module(name: String($0.1), dependencies: names(in: $0.2), isPure: $0.3.contains("pure")) }
        return Dictionary((calls + targets).map { ($0.name, $0) }) { first, _ in first }
    }()

    /// The products of other packages, by the name of the constant for each.
    private static let products = Dictionary(
        text.matches(of: /let (\w+) = Target\.Dependency\.product\(name: "(\w+)"/).map {
            (String($0.1), String($0.2))
        }
    ) { first, _ in first }

    private static func names(in list: Substring?) -> Set<String> {
        Set((list ?? "").split { ", \n\"".contains($0) }.map { products[String($0)] ?? String($0) })
    }
}
