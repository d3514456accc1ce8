import Testing

@Suite("A module")
struct ImportTests {
    /// The modules of the toolchain that the code may import.
    ///
    /// The toolchain's other modules are C libraries that we wrap, or too large (FoundationNetworking).
    private static let system: Set<String> = [
        "Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Dispatch",
    ]

    /// The kits for apps, and the modules of Apple's that they may import; the server imports none of them.
    static let kits: Set<String> = ["RinglineKit", "RinglineCallKit"]
    private static let apple: Set<String> = [
        "AVFAudio", "CallKit", "FoundationNetworking", "Intents", "PushKit",
    ]

    private static let adapters: Set<String> = [
        "SQLiteStore", "PostgresStore", "MemoryStore", "Pushes", "Backend", "Gateway",
    ]

    @Test("A module imports exactly its dependencies in Package.swift; a pure module imports nothing of the system")
    func importsAreTheDependencies() {
        for (name, files) in Dictionary(grouping: Repository.sources, by: \.target) {
            guard let module = Package.modules[name] else { continue }
            let foreign = files.flatMap(\.imports)
                .filter { !module.dependencies.contains($0.module) }
                .filter { module.isPure && !Self.adapters.contains(name) || !Self.system.contains($0.module) }
                .filter { !Self.kits.contains(name) || !Self.apple.contains($0.module) }
            expectNone(
                foreign.map { "\($0.place): \(name) imports \($0.module)" },
                "not among the dependencies in Package.swift"
            )
            let imported = Set(files.flatMap(\.imports).map(\.module))
            expectNone(
                module.dependencies.subtracting(imported).sorted().map { "\(name) depends on \($0)" },
                "a dependency in Package.swift that no file imports"
            )
        }
    }

    @Test("Every module is a target of Package.swift, and every target has files")
    func targetsAreTheFolders() {
        let folders = Set(Repository.sources.map(\.target))
        let targets = Set(Package.modules.keys)
        expectNone(folders.subtracting(targets).sorted(), "a folder in Sources without a target")
        expectNone(targets.subtracting(folders).sorted(), "a target without a Swift file in Sources")
        #expect(targets.count > 15 && Package.modules["CallCore"]?.isPure == true, "Package.swift is read")
        #expect(Package.modules["ringline"]?.dependencies.contains("ArgumentParser") == true, "Package.swift is read")
    }

    @Test("A module of the product imports FoundationEssentials, not Foundation, which adds 46 MB of ICU")
    func noFoundation() {
        // CallTesting is linked into tests only, and the kits into apps, where Foundation is part of the system.
        let heavy: Set<String> = [
            "Foundation", "FoundationInternationalization", "FoundationNetworking", "FoundationXML",
        ]
        expectNone(
            Repository.sources.filter { $0.target != "CallTesting" && !Self.kits.contains($0.target) }.flatMap(
                \.imports
            )
            .filter { heavy.contains($0.module) }.map { "\($0.place): import \($0.module)" },
            "import FoundationEssentials or Glibc: one file that imports Foundation links ICU into the static binary"
        )
    }

    /// The wings from which the modules of each wing may import.
    private static let allowed: [String: Set<String>] = [
        "Core": ["Core"],
        "Clients": ["Core", "Clients"],
        "Server": ["Core", "Server", "Libraries"],
        "Proofs": ["Core", "Clients", "Server", "Proofs"],
    ]

    @Test("A module imports only from its own wing, the core and, on the server, the C libraries; proofs import all")
    func wingsImportLeftwards() {
        let wings = Dictionary(
            Repository.files.compactMap { path -> (String, String)? in
                let parts = path.split(separator: "/").map(String.init)
                return parts.first == "Sources" && parts.count > 3 ? (parts[2], parts[1]) : nil
            }
        ) { first, _ in first }
        #expect(Set(wings.values) == Set(Self.allowed.keys).union(["Libraries"]), "every wing is in the table")
        for (name, module) in Package.modules {
            guard let wing = wings[name], let allowed = Self.allowed[wing] else { continue }
            let foreign = module.dependencies.filter { wings[$0].map { !allowed.contains($0) } ?? false }
            // The commands `call`, `answer`, `try` and `demo` are clients.
            expectNone(
                foreign.filter { (name, $0) != ("ringline", "CallClient") }.sorted()
                    .map { "\(name) (\(wing)) depends on \($0)" },
                "its wing may not import that one"
            )
        }
    }

    @Test("A kit for apps depends on the client core's modules only")
    func kitsAreSmall() {
        let core: Set<String> = ["CallCore", "JSON", "CallWire", "CallClient"]
        for name in Self.kits {
            let foreign = (Package.modules[name]?.dependencies ?? [name]).subtracting(core).subtracting(Self.kits)
            expectNone(foreign.sorted().map { "\(name) depends on \($0)" }, "apps link the client core only")
        }
    }

    @Test("An adapter imports no other adapter")
    func adaptersAreIndependent() {
        let befriended = Repository.sources.filter { Self.adapters.contains($0.target) }.flatMap { file in
            file.imports.filter { $0.module != file.target && Self.adapters.contains($0.module) }.map(\.place)
        }
        expectNone(befriended, "an adapter may import only the ports")
        // The gateway hosts the switchboard. The other adapters are called through the ports.
        let hosted = Repository.sources.filter { Self.adapters.contains($0.target) && $0.target != "Gateway" }
            .flatMap(\.imports).filter { $0.module == "Switchboard" }.map(\.place)
        expectNone(hosted, "an adapter imports CallPorts, not the switchboard")
    }

    @Test("Nothing that decides imports CallTrace: a sentence for people rebuilds no decision")
    func sentencesAreNoDecisions() {
        let importers = Package.modules.filter { $0.value.dependencies.contains("CallTrace") }.map(\.key)
        #expect(importers.sorted() == ["Diagnostics", "Simulation", "ringline"], "take a CallExplainer instead")
    }

    @Test("No module imports XCTest")
    func noXCTest() {
        expectNone(
            Repository.swift.flatMap(\.imports).filter { $0.module == "XCTest" }.map(\.place),
            "use Swift Testing instead of XCTest"
        )
    }

    @Test("Only ServerLog and the composition use the logging library")
    func onlyServerLogLogs() {
        let writers = ["Sources/Server/ServerLog/", "Sources/Server/ringline/Composition/Log.swift"]
        expectNone(
            Repository.sources.filter { file in !writers.contains { file.path.hasPrefix($0) } }.flatMap(\.imports)
                .filter { $0.module == "Logging" }.map(\.place),
            "a ServerLog instead of a Logger"
        )
    }

    @Test("No module re-exports another")
    func nothingIsReexported() {
        expectNone(
            Repository.sources.flatMap(\.imports).filter { $0.modifiers.contains("@_exported") }.map(\.place),
            "an import must not be re-exported"
        )
    }
}
