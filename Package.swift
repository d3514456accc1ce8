// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// Whether CI builds (`.ci/run`): its runs are the only ones that set `RINGLINE_STRICT`.
let isForCI = ProcessInfo.processInfo.environment["RINGLINE_STRICT"] != nil

/// The compiler settings of every target of this package.
///
/// CI makes every warning an error. That is not the default, because a newer compiler may have new warnings, and a
/// release must still build with it.
let house: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + (isForCI ? [.treatAllWarnings(as: .error)] : [])

/// The settings of targets that use no C library: the compiler also checks that they contain no unsafe code.
let pure = house + [.strictMemorySafety()]

/// A module; `others` are the folders in its folder that are not compiled.
func library(
    _ name: String,
    _ dependencies: [Target.Dependency] = [],
    _ settings: [SwiftSetting] = house,
    excluding others: [String] = []
) -> Target {
    .target(name: name, dependencies: dependencies, exclude: others, swiftSettings: settings)
}

/// A system library: its module map and shim are in its folder; SwiftPM suggests the apt package if it is missing.
func system(_ name: String, apt: String) -> Target {
    .systemLibrary(name: name, providers: [.apt([apt])])
}

/// The options that undo what SwiftPM sets in release mode.
///
/// The compiler says that it ignores the number of threads.
let inBatches = ["-no-whole-module-optimization", "-enable-batch-mode"]

/// A test target, `<name>Tests`; `others` are the files in its folder that are not compiled.
///
/// CI builds in release mode, but does not optimize the tests: it would take minutes, and the code under test is optimized.
/// It compiles their files in batches, as a debug build does: a large test target that is compiled as one module keeps one
/// core busy for minutes while the other one waits.
func tests(_ name: String, _ dependencies: [Target.Dependency], in folder: String, others: [String] = []) -> Target {
    .testTarget(
        name: "\(name)Tests",
        dependencies: dependencies,
        path: folder,
        exclude: others,
        swiftSettings: house + (isForCI ? [.unsafeFlags(["-Onone"] + inBatches)] : [])
    )
}

/// Whether an image is built (`Deploy/Dockerfile`): with exact versions of the packages, and without the test folder.
let isForImage = ProcessInfo.processInfo.environment["RINGLINE_PINNED"] != nil

/// A package in this version or, unless an image is built, a compatible newer one.
///
/// An image of a commit thus has the same packages whenever it is built. There is no `Package.resolved`, because it
/// also contains revisions, and those differ behind mirrors.
func dependency(_ name: String, _ version: Version) -> Package.Dependency {
    let url = "https://github.com/\(name)"
    return isForImage ? .package(url: url, exact: version) : .package(url: url, from: version)
}

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let deques = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heaps = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

/// The tests of modules, each in the folder of its module's name in the wing's folder of `Tests`.
///
/// The first module of each list is the one that is tested.
func tests(in wing: String, _ modules: [[Target.Dependency]], others: [String: [String]] = [:]) -> [Target] {
    modules.map { dependencies in
        guard case .byNameItem(let name, _) = dependencies[0] else { fatalError("the first one is a module") }
        return tests(name, dependencies, in: "Tests/\(wing)/\(name)", others: others[name] ?? [])
    }
}

let testing: [Target] =
    tests(
        in: "Core",
        [
            ["CallCore", "SeededRandom"],
            ["JSON", "SeededRandom"],
            ["CallWire", "CallCore", "JSON", "SeededRandom"],
            ["SocketIO", "CallCore", "CallWire", "JSON"],
            ["TimeZones", "CallCore", "SeededRandom"],
            ["CallPorts", "CallCore", "SeededRandom"],
            ["CallTrace", "CallPorts", "CallCore", "JSON", "Storing"],
            [
                "Switchboard", "CallTrace", "CallPorts", "Storing", "TimeZones", "CallCore", "CallWire", "CallClient",
                "JSON", "MemoryStore", "SeededRandom", "Threads",
            ],
            ["Nodes", "CallPorts", "CallCore", "CallWire", "SeededRandom"],
            ["MemoryStore", "CallPorts", "CallTesting", "CallCore"],
        ],
        others: ["TimeZones": ["make_fixture.py", "transitions.txt"]]
    )
    + tests(
        in: "Clients",
        [
            ["CallClient", "CallCore", "CallWire", "JSON", "SeededRandom"],
            ["ClientBridge", "CallClient", "CallCore"],
            ["RinglineKit", "KitFakes", "CallClient", "CallCore"],
        ]
    )
    + tests(
        in: "Server",
        [
            ["Threads"],
            ["ServerLog", "CallCore", logging],
            ["Crypto"],
            ["Identity", "Crypto", "COpenSSL", "CallCore", "SeededRandom"],
            ["Storing", "CallPorts", "CallTesting", "CallCore"],
            ["SQLite"],
            ["SQLiteStore", "SQLite", "Storing", "CallPorts", "CallTesting", "CallCore", "Threads"],
            [
                "PostgresStore", "Postgres", "SQLiteStore", "SQLite", "Storing", "CallPorts", "CallTesting",
                "CallCore", "Threads",
            ],
            ["OutboundHTTP", "ServerTesting", "Threads"],
            [
                "Pushes", "ServerTesting", "OutboundHTTP", "Threads", "Crypto", "CallPorts", "CallCore", "ServerLog",
                logging,
            ],
            ["Backend", "ServerTesting", "OutboundHTTP", "Threads", "CallPorts", "CallCore", "ServerLog"],
            ["LibWebSockets", "ServerTesting", "Threads", "CallPorts", "CallWire", "SeededRandom"],
            [
                "Gateway", "ServerTesting", "LibWebSockets", "Threads", "Nodes", "Crypto", "ServerLog", "SocketIO",
                "Switchboard", "CallPorts", "CallCore", "CallWire",
            ],
            ["Diagnostics", "ringline", "Crypto", "Switchboard", "CallTrace", "CallPorts", "CallCore"],
            [
                "ringline", "Identity", "Switchboard", "CallPorts", "TimeZones", "CallCore", "CallWire",
                "LibWebSockets",
                "ServerLog", arguments,
            ],
        ]
    )
    + tests(
        in: "Proofs",
        [
            ["SeededRandom"],
            ["Simulation", "CallCore", "CallPorts", "CallWire"],
        ]
    )
    + [
        tests("House", ["ringline", "CallCore", "CallWire", "ServerLog"], in: "Tests/House"),
        // Clients that break rules, fakes, and the turn of tests with an event loop.
        .target(
            name: "ServerTesting",
            dependencies: ["LibWebSockets", "OutboundHTTP", "Threads", "CallWire"],
            path: "Tests/Server/ServerTesting",
            swiftSettings: house
        ),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Switchboard", "CallPorts", "SocketIO", "Identity", "LibWebSockets", "SQLiteStore", "SQLite",
                "CallCore", "CallWire", "JSON", "SeededRandom",
            ],
            path: "Tests/Fuzz/Targets",
            swiftSettings: house
        ),
        tests("Fuzz", ["FuzzTargets"], in: "Tests/FuzzTests"),
        // Traces of client cores, which the native core and the one in WebAssembly replay: see `Tests/Vectors/run`.
        .executableTarget(
            name: "client-vectors",
            dependencies: ["ClientBridge", "CallClient", "CallCore", "JSON", "SeededRandom", "Simulation"],
            path: "Tests/Vectors/Tool",
            swiftSettings: house
        ),
        // Fakes of the kit's ports, for the tests of both kits.
        .target(
            name: "KitFakes",
            dependencies: ["RinglineKit", "CallClient", "CallCore"],
            path: "Tests/Clients/KitFakes",
            swiftSettings: house
        ),
        // The kit as a program, for end-to-end tests.
        .executableTarget(
            name: "ringline-kit-device",
            dependencies: ["RinglineKit", "CallClient", "CallCore", "LibWebSockets"],
            path: "Tests/Clients/KitDevice",
            swiftSettings: house
        ),
    ]

/// The operations for which instructions and allocations are counted.
///
/// Only `Tests/Benchmarks/instructions` sets the variable: images are built without that folder.
let benchmarks: [Target] =
    ProcessInfo.processInfo.environment["RINGLINE_BENCHMARKS"] == nil
    ? []
    : [
        .executableTarget(
            name: "pure-benchmarks",
            dependencies: ["Switchboard", "Nodes", "CallPorts", "SocketIO", "CallCore", "CallWire", "JSON"],
            path: "Tests/Benchmarks/pure",
            swiftSettings: house
        ),
        .executableTarget(
            name: "store-benchmarks",
            dependencies: ["PostgresStore", "Postgres", "SQLiteStore", "CallPorts", "CallCore", "Threads"],
            path: "Tests/Benchmarks/store",
            swiftSettings: house
        ),
    ]

/// Whether the stand-ins for Apple's frameworks are built, and with them only what the kits for apps need.
///
/// `Tests/apple` sets the variable, because there is no Apple SDK on Linux: with the stand-ins, `canImport(CallKit)` is
/// true, and RinglineCallKit is compiled and tested. Nothing else is built then, because this build is a second one, in a
/// folder of its own.
let hasAppleStubs = ProcessInfo.processInfo.environment["RINGLINE_APPLE_STUBS"] != nil

/// The modules that stand in for Apple's: their public API as Apple documents it, and what tests need to play the system.
let appleStubs: [Target.Dependency] = hasAppleStubs ? ["AVFAudio", "CallKit", "Intents", "PushKit"] : []

func stub(_ name: String, _ dependencies: [Target.Dependency] = [], _ settings: [SwiftSetting] = house) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Clients/AppleStubs/\(name)", swiftSettings: settings)
}

/// The kits for apps, the modules that they consist of, and their tests with the stand-ins.
let kitsAlone: Set<String> = [
    "CallCore", "JSON", "CallWire", "CallClient", "RinglineKit", "RinglineCallKit", "KitFakes", "RinglineKitTests",
]
let withAppleStubs: [Target] = [
    stub("AVFAudio"),
    stub("CallKit", ["AVFAudio"]),
    stub("Intents"),
    stub("PushKit"),
    // For the example and the code on the pages of the kits, which `Tests/apple` compiles.
    stub("AVFoundation", ["AVFAudio"]),
    stub("Combine"),
    stub("Network"),
    stub("Security"),
    stub("SwiftUI", ["Combine", "Intents", "UIKit"]),
    stub("UIKit"),
    stub("UserNotifications"),
    // In Swift 5 mode: the library is Objective-C, and says of none of its types whether it is `Sendable`.
    stub("WebRTC", ["AVFoundation", "UIKit"], house + [.swiftLanguageMode(.v5)]),
    tests(
        "RinglineCallKit",
        ["KitFakes", "RinglineCallKit", "RinglineKit", "CallClient", "CallCore"] + appleStubs,
        in: "Tests/Clients/RinglineCallKit"
    ),
]

/// The code that reads untrusted bytes, for libFuzzer.
///
/// Only `Tests/Fuzz/run` sets the variable: the driver has no `main`, because libFuzzer brings one.
let fuzzing: [Target] =
    ProcessInfo.processInfo.environment["RINGLINE_FUZZ"] == nil
    ? [] : [.executableTarget(name: "ringline-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Driver")]

/// A wing: the modules in one folder of `Sources`, each in a folder of its name.
///
/// A module imports modules of its own wing, of the core and of the libraries; the executable `ringline` also imports the
/// client core, for the commands that make a call, and the proofs import everything (`HouseTests`).
func wing(_ folder: String, _ modules: [Target]) -> [Target] {
    for module in modules { module.path = "Sources/\(folder)/\(module.name)" }
    return modules
}

/// What decides: pure modules without I/O.
let core = wing(
    "Core",
    [
        library("CallCore", [], pure),
        library("JSON", [], pure),
        library("CallWire", ["CallCore", "JSON"], pure),
        library("SocketIO", ["CallCore", "CallWire", "JSON"], pure),

        // Local times, and the rules of time zones.
        library("TimeZones", ["CallCore"], pure),
        library("CallPorts", ["TimeZones", "CallCore", "CallWire", "JSON"], pure),
        library("CallTrace", ["CallPorts", "CallCore", "CallWire", "JSON"], pure),
        library(
            "Switchboard",
            ["CallPorts", "TimeZones", "CallCore", "CallWire", "JSON", deques, heaps],
            pure
        ),

        // Several nodes: who owns the calls, and the links between the nodes.
        library("Nodes", ["CallPorts", "CallCore", "CallWire"], pure),
        library("MemoryStore", ["CallPorts", "CallCore"], pure),
    ]
)

/// What calls: the client core and the kits for apps.
let clients = wing(
    "Clients",
    [
        // The client core: the call session from one device's point of view.
        library("CallClient", ["CallWire", "CallCore", "JSON"], pure),

        // The client core behind a language of JSON texts, for JavaScript: `Sources/Clients/RinglineJS/build` compiles it
        // to WebAssembly.
        library("ClientBridge", ["CallClient", "CallCore", "JSON"], pure),

        // The kits for apps: the client core with sockets, requests and a token; CallKit and PushKit.
        library("RinglineKit", ["CallClient", "CallCore"], excluding: ["Examples"]),
        library("RinglineCallKit", ["RinglineKit", "CallClient", "CallCore"] + appleStubs),
    ]
)

/// What does: sockets, databases, pushes and the program.
let server = wing(
    "Server",
    [
        // Locks, threads and clocks, from the operating system.
        library("Threads"),

        // The log, which takes typed fields only.
        library("ServerLog", ["Threads", "CallCore", logging]),

        // Authentication.
        library("Crypto", ["COpenSSL"]),
        library("Identity", ["Crypto", "CallCore", "JSON"]),

        // Storage.
        library("Storing", ["Threads", "CallPorts", "TimeZones", "CallWire", "CallCore", "JSON"]),
        library("SQLite", ["CSQLite"]),
        library("SQLiteStore", ["Storing", "SQLite", "Threads", "CallPorts", "CallCore"]),
        library("Postgres", ["CPostgres"]),
        library("PostgresStore", ["Storing", "Postgres", "Threads", "CallPorts", "CallCore", deques]),

        // Pushes.
        library("OutboundHTTP", ["CCurl", "Threads", deques, heaps]),
        library("Pushes", ["OutboundHTTP", "Threads", "Crypto", "CallPorts", "CallCore", "JSON", "ServerLog"]),

        // Events for the app's backend.
        library("Backend", ["OutboundHTTP", "Threads", "Crypto", "CallPorts", "CallCore", "ServerLog"]),

        // Connections.
        library(
            "LibWebSockets",
            ["CLibwebsockets", "CZlib", "Threads", "CallPorts", "CallCore", "CallWire", "JSON", deques]
        ),
        library(
            "Gateway",
            [
                "LibWebSockets", "Threads", "Switchboard", "Nodes", "CallPorts", "SocketIO", "CallCore", "CallWire",
                "Crypto", "JSON", "ServerLog", deques,
            ]
        ),

        // The probes of `ringline doctor`.
        library("Diagnostics", ["Identity", "Crypto", "CallTrace", "CallPorts", "CallWire", "CallCore"]),

        .executableTarget(
            name: "ringline",
            dependencies: [
                "Gateway", "Identity", "SQLiteStore", "PostgresStore", "Postgres", "MemoryStore", "Pushes", "Backend",
                "Switchboard", "CallTrace", "CallClient", "CallPorts", "TimeZones", "CallCore", "CallWire",
                "LibWebSockets", "Threads", "OutboundHTTP", "Diagnostics", "Crypto", "JSON", "ServerLog", arguments,
                logging,
            ],
            swiftSettings: house
        ),
    ]
)

/// What proves: simulated networks, devices and pushes, and the contract suites of the ports.
let proofs = wing(
    "Proofs",
    [
        // Random numbers from a seed.
        library("SeededRandom", [], pure),
        library("CallTesting", ["Storing", "CallPorts", "TimeZones", "CallCore", "Threads"]),
        library(
            "Simulation",
            [
                "Switchboard", "Nodes", "MemoryStore", "CallTrace", "CallPorts", "CallClient", "CallCore", "CallWire",
                "TimeZones",
                "JSON", "SeededRandom", heaps,
            ],
            pure
        ),
        .executableTarget(name: "ringline-simulate", dependencies: ["Simulation", arguments], swiftSettings: house),
    ]
)

/// The C libraries.
let libraries = wing(
    "Libraries",
    [
        system("COpenSSL", apt: "libssl-dev"),
        system("CSQLite", apt: "libsqlite3-dev"),
        system("CPostgres", apt: "libpq-dev"),
        system("CCurl", apt: "libcurl4-openssl-dev"),
        system("CZlib", apt: "zlib1g-dev"),
        system("CLibwebsockets", apt: "libwebsockets-dev"),
    ]
)

let package = Package(
    name: "ringline",
    // The platforms of the kits for apps; the server is built for Linux only.
    platforms: [.iOS(.v15), .macOS(.v12), .macCatalyst(.v15)],
    products: [
        .executable(name: "ringline", targets: ["ringline"]),
        .executable(name: "ringline-simulate", targets: ["ringline-simulate"]),
        .library(name: "CallCore", targets: ["CallCore"]),
        .library(name: "CallClient", targets: ["CallClient"]),
        .library(name: "RinglineKit", targets: ["RinglineKit"]),
        .library(name: "RinglineCallKit", targets: ["RinglineCallKit"]),
    ],
    dependencies: [
        dependency("apple/swift-argument-parser", "1.8.2"),
        dependency("apple/swift-collections", "1.6.0"),
        dependency("apple/swift-log", "1.16.2"),
    ],
    targets: core + clients + server + proofs + libraries + (isForImage ? [] : testing) + benchmarks + fuzzing,
    swiftLanguageModes: [.v6]
)

if hasAppleStubs {
    package.products.removeAll { !$0.name.hasPrefix("Ringline") && !$0.name.hasPrefix("Call") }
    package.dependencies = []
    package.targets.removeAll { !kitsAlone.contains($0.name) }
    package.targets += withAppleStubs
}
