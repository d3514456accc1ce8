import Testing

@Suite("A C library")
struct CLibraryTests {
    /// The Swift module that wraps each C module; no other module imports it.
    private static let wrapper = [
        "CLibwebsockets": "LibWebSockets", "COpenSSL": "Crypto", "CCurl": "OutboundHTTP", "CSQLite": "SQLite",
    ]

    @Test("has one wrapper, which alone imports it")
    func oneWrapper() {
        let elsewhere = Repository.swift.flatMap { file in
            // A forger of tokens must not be made of the code that it is to deceive.
            file.imports.filter { file.target != "IdentityTests" || $0.module != "COpenSSL" }
                .filter { Self.wrapper[$0.module] != nil && Self.wrapper[$0.module] != file.target }
                .map { "\($0.place): \(file.target) imports \($0.module)" }
        }
        expectNone(elsewhere, "a C library is touched in its wrapper only")
    }

    @Test("is never imported publicly")
    func neverPublic() {
        let shown = Repository.swift.flatMap(\.imports)
            .filter { $0.module.hasPrefix("C") && Self.wrapper[$0.module] != nil || $0.module == "Glibc" }
            .filter { $0.modifiers.contains(/\b(public|package)\b|@_exported/) }
        expectNone(shown.map(\.place), "a C type is never public")
    }

    @Test("is a folder with a module map and one header")
    func folder() {
        let folders = Set(
            Repository.files.filter { $0.hasPrefix("Sources/C") && $0.hasSuffix("/module.modulemap") }
                .compactMap { $0.split(separator: "/").dropFirst().first.map(String.init) }
        )
        #expect(folders == Set(Self.wrapper.keys), "a C module and its wrapper stand in the table")
        for folder in folders {
            let files = Repository.files.filter { $0.hasPrefix("Sources/\(folder)/") }
            #expect(files == ["module.modulemap", "shim.h"].map { "Sources/\(folder)/\($0)" })
            #expect(!Repository.text(of: "Package.swift").contains("pkgConfig:"), ".pc files add prohibited flags")
        }
    }

    @Test("has a word of why at each function of its shim")
    func shimsAreExplained() {
        for folder in Self.wrapper.keys.sorted() {
            let path = "Sources/\(folder)/shim.h"
            let paragraphs = Repository.text(of: path).split(separator: "\n\n")
            let unexplained = paragraphs.filter {
                $0.contains("static inline") && !$0.contains("/// ") && !$0.contains("/* ")
            }
            .compactMap { $0.split(separator: "\n").first.map { "\(path): \($0)" } }
            // One comment may speak for a family of functions, as for the three calls on an epoll set.
            expectNone(unexplained.filter { !$0.contains("clws_epoll_") }, "a shim says why it exists")
        }
    }

    /// The functions of ours that replace one of the same name in a library: all C functions with such a name.
    private static let interposed: [(name: String, path: String, line: Int, declaration: Substring)] =
        Repository.sources.filter { $0.target == "LibWebSockets" }.flatMap { file in
            file.lines.indices.dropLast().compactMap { index in
                file.lines[index].wholeMatch(of: /@c\((\w+)\)/).map {
                    (String($0.1), file.path, index + 1, file.lines[index + 1])
                }
            }
        }

    @Test("has functions of ours in front of its own in one folder only, and a page says why each is there")
    func interposedFunctionsAreListed() {
        #expect(Self.interposed.count >= 7)
        let folder = "Sources/LibWebSockets/Interposed/"
        expectNone(
            Self.interposed.filter { !$0.path.hasPrefix(folder) }.map { "\($0.path):\($0.line)" },
            "belongs into \(folder)"
        )
        let page = Repository.text(of: "Sources/ringline/ringline.docc/Decisions/0013-interposed-functions.md")
        let rows = page.split(separator: "\n").compactMap { $0.prefixMatch(of: /\| `(\w+)` \|/) }
        let listed = Set(rows.map { String($0.1) })
        let names = Set(Self.interposed.map(\.name))
        expectNone(names.subtracting(listed).sorted(), "Decision 0013 has no row about it")
        expectNone(listed.subtracting(names).sorted(), "Decision 0013 has a row about a function that is gone")
    }

    @Test("is stood in front of by functions that an optimised build shows to the dynamic linker")
    func interposedFunctionsAreVisible() {
        expectNone(
            Self.interposed.filter { !$0.declaration.hasPrefix("public func") }.map { "\($0.path):\($0.line)" },
            "internal symbols are hidden in a release, and the library goes on calling its own"
        )
    }
}
