import Testing

@Suite("A module")
struct ImportTests {
    /// The table of the architecture: who may import what of ours, of C, and of the packages.
    private static let table: [String: Set<String>] = [
        "CallCore": [],
        "CallWire": ["CallCore"],
        "SocketIO": ["CallCore", "CallWire"],
        "Switchboard": ["CallCore", "CallWire", "DequeModule", "HeapModule"],
        "Crypto": ["COpenSSL"],
        "Identity": ["Crypto"],
        "Threads": [],
        "SQLite": ["CSQLite"],
        "SQLiteStore": ["SQLite", "Threads", "Switchboard", "CallCore", "CallWire", "Logging"],
        "MemoryStore": ["Switchboard", "CallCore"],
        "OutboundHTTP": ["CCurl", "Threads"],
        "ApplePush": ["OutboundHTTP", "Threads", "Crypto", "Switchboard", "CallCore", "CallWire", "Logging"],
        "LibWebSockets": ["CLibwebsockets", "Threads", "CallWire"],
        "Gateway": [
            "LibWebSockets", "Threads", "Identity", "Crypto", "Switchboard", "SocketIO", "CallWire", "CallCore",
            "Logging",
            "DequeModule",
            "Metrics",
        ],
        "CallClient": ["CallWire", "CallCore"],
        "CallTesting": ["Switchboard", "CallClient", "CallWire", "CallCore"],
        "Simulation": ["Switchboard", "CallClient", "CallWire", "CallCore"],
        "ringline": [
            "Gateway", "Identity", "SQLiteStore", "MemoryStore", "ApplePush", "Switchboard", "CallWire", "CallCore",
            "CallClient",
            // `ringline call` is a client, and has no other WebSocket; keys are read before anything else is made.
            "LibWebSockets", "Crypto", "Threads",
            // The issuer's keys.
            "OutboundHTTP",
            // `ringline simulate`.
            "Simulation",
            "ArgumentParser", "Logging", "Metrics",
        ],
    ]

    /// What is pure has nothing of the system but the standard library.
    private static let pure: Set<String> = ["CallCore", "CallWire", "SocketIO", "Switchboard"]

    /// What comes with the toolchain.
    ///
    /// Everything else of it is either C that we wrap or too large (FoundationNetworking).
    private static let system: Set<String> = [
        "Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Dispatch",
    ]

    private static let adapters: Set<String> = ["SQLiteStore", "MemoryStore", "ApplePush", "Gateway"]

    @Test("imports what its line of the table names, and nothing else")
    func importsFollowTheTable() {
        let wrong = Repository.sources.flatMap { file in
            let allowed = (Self.table[file.target] ?? []).union(Self.pure.contains(file.target) ? [] : Self.system)
            return file.imports.filter { !allowed.contains($0.module) }
                .map { "\($0.place): \(file.target) imports \($0.module)" }
        }
        expectNone(wrong, "not in the table of ImportTests (architecture: Modules)")
    }

    @Test("has a line in the table, and every line is a module or one to come")
    func tableIsComplete() {
        let modules = Set(Repository.sources.map(\.target))
        expectNone(modules.subtracting(Self.table.keys).sorted(), "a module without a line in the table")
        let toCome: Set<String> = ["CallClient"]
        expectNone(Set(Self.table.keys).subtracting(modules).subtracting(toCome).sorted(), "a line without a module")
    }

    @Test("that is in the product has FoundationEssentials at most: all of Foundation adds 46 MB of ICU to the binary")
    func noFoundation() {
        // CallTesting is linked into tests only.
        let heavy: Set<String> = [
            "Foundation", "FoundationInternationalization", "FoundationNetworking", "FoundationXML",
        ]
        expectNone(
            Repository.sources.filter { $0.target != "CallTesting" }.flatMap(\.imports)
                .filter { heavy.contains($0.module) }.map { "\($0.place): import \($0.module)" },
            "FoundationEssentials or Glibc instead: one file that imports Foundation links ICU into the static binary"
        )
    }

    @Test("that is an adapter imports no other adapter")
    func adaptersAreStrangers() {
        let befriended = Repository.sources.filter { Self.adapters.contains($0.target) }.flatMap { file in
            file.imports.filter { $0.module != file.target && Self.adapters.contains($0.module) }.map(\.place)
        }
        expectNone(befriended, "adapters know the ports only")
        for (module, imports) in Self.table where Self.adapters.contains(module) {
            #expect(imports.isDisjoint(with: Self.adapters), "\(module)")
        }
    }

    @Test("that is a test's may import what it tests and its tools, never XCTest")
    func noXCTest() {
        expectNone(
            Repository.swift.flatMap(\.imports).filter { $0.module == "XCTest" }.map(\.place),
            "Swift Testing instead of XCTest"
        )
    }

    @Test("hands nothing on that it imports")
    func nothingIsReexported() {
        expectNone(
            Repository.sources.flatMap(\.imports).filter { $0.modifiers.contains("@_exported") }.map(\.place),
            "an import is not exported"
        )
    }

    @Test("depends in Package.swift on what its line names, and on nothing else")
    func packageFollowsTheTable() {
        let package = Repository.text(of: "Package.swift")
        for match in package.matches(of: /library\(\s*"(\w+)",\s*\[([^\]]*)\]/) {
            let products = ["logging": "Logging", "deques": "DequeModule", "heaps": "HeapModule", "metrics": "Metrics"]
            let names = match.2.split { ", \n\"".contains($0) }.map { products[String($0)] ?? String($0) }
            expectNone(
                Set(names).subtracting(Self.table[String(match.1)] ?? []).sorted().map {
                    "\(match.1) depends on \($0)"
                },
                "Package.swift says more than the table"
            )
        }
    }
}
