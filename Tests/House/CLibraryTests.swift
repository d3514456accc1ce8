import Testing

@Suite("A C library")
struct CLibraryTests {
    /// The Swift module that wraps each C module; no other module imports it.
    private static let wrapper = [
        "CLibwebsockets": "LibWebSockets", "COpenSSL": "Crypto", "CCurl": "OutboundHTTP", "CSQLite": "SQLite",
        "CPostgres": "Postgres", "CZlib": "LibWebSockets",
    ]

    @Test("Only its wrapper imports a C library")
    func oneWrapper() {
        let elsewhere = Repository.swift.flatMap { file in
            // The tests of tokens make their tokens without the code that they test.
            file.imports.filter { file.target != "IdentityTests" || $0.module != "COpenSSL" }
                .filter { Self.wrapper[$0.module] != nil && Self.wrapper[$0.module] != file.target }
                .map { "\($0.place): \(file.target) imports \($0.module)" }
        }
        expectNone(elsewhere, "only its wrapper may import a C library")
    }

    @Test("No C library is imported publicly")
    func neverPublic() {
        let shown = Repository.swift.flatMap(\.imports)
            .filter { $0.module.hasPrefix("C") && Self.wrapper[$0.module] != nil || $0.module == "Glibc" }
            .filter { $0.modifiers.contains(/\b(public|package)\b|@_exported/) }
        expectNone(shown.map(\.place), "a C type is never public")
    }

    @Test("Each C library's folder has a module map and one header")
    func folder() {
        let folders = Set(
            Repository.files.filter { $0.hasPrefix("Sources/Libraries/") && $0.hasSuffix("/module.modulemap") }
                .compactMap { $0.split(separator: "/").dropFirst(2).first.map(String.init) }
        )
        #expect(folders == Set(Self.wrapper.keys), "the table lists each C module and its wrapper")
        for folder in folders {
            let files = Repository.files.filter { $0.hasPrefix("Sources/Libraries/\(folder)/") }
            #expect(files == ["module.modulemap", "shim.h"].map { "Sources/Libraries/\(folder)/\($0)" })
            #expect(!Repository.text(of: "Package.swift").contains("pkgConfig:"), ".pc files add prohibited flags")
        }
    }

    @Test("A comment explains each function of a shim")
    func shimsAreExplained() {
        for folder in Self.wrapper.keys.sorted() {
            let path = "Sources/Libraries/\(folder)/shim.h"
            let paragraphs = Repository.text(of: path).split(separator: "\n\n")
            let unexplained = paragraphs.filter {
                $0.contains("static inline") && !$0.contains("/// ") && !$0.contains("/* ")
            }
            .compactMap { $0.split(separator: "\n").first.map { "\(path): \($0)" } }
            // One comment may explain a family of functions, such as the three calls on an epoll set.
            expectNone(unexplained.filter { !$0.contains("clws_epoll_") }, "no comment says why it exists")
        }
    }

    /// Our functions that replace a library's function of the same name: every function with `@c(name)`.
    private static let interposed: [(name: String, path: String, line: Int, declaration: Substring)] =
        Repository.sources.filter { $0.target == "LibWebSockets" }.flatMap { file in
            file.lines.indices.dropLast().compactMap { index in
                file.lines[index].wholeMatch(of: /@c\((\w+)\)/).map {
                    (String($0.1), file.path, index + 1, file.lines[index + 1])
                }
            }
        }

    @Test("Functions that replace a library's own are in one folder, and Decision 0013 lists each")
    func interposedFunctionsAreListed() {
        #expect(Self.interposed.count >= 7)
        let folder = "Sources/Server/LibWebSockets/Interposed/"
        expectNone(
            Self.interposed.filter { !$0.path.hasPrefix(folder) }.map { "\($0.path):\($0.line)" },
            "belongs in \(folder)"
        )
        let page = Repository.text(of: "Sources/Server/ringline/ringline.docc/Decisions/0013-interposed-functions.md")
        let rows = page.split(separator: "\n").compactMap { $0.prefixMatch(of: /\| `(\w+)` \|/) }
        let listed = Set(rows.map { String($0.1) })
        let names = Set(Self.interposed.map(\.name))
        expectNone(names.subtracting(listed).sorted(), "Decision 0013 has no row for this function")
        expectNone(listed.subtracting(names).sorted(), "Decision 0013 has a row for it, but it no longer exists")
    }

    @Test("Functions that replace a library's own are public, so that an optimized build exports them")
    func interposedFunctionsAreVisible() {
        expectNone(
            Self.interposed.filter { !$0.declaration.hasPrefix("public func") }.map { "\($0.path):\($0.line)" },
            "a release build hides internal symbols, and the library would still call its own function"
        )
    }
}
