// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// What every target of ours is compiled with.
///
/// CI sets `RINGLINE_STRICT`, and a warning is then an error: not for whoever builds a release with a newer
/// compiler that has learned a new warning.
let house: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + (ProcessInfo.processInfo.environment["RINGLINE_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

/// And those that have no C beneath them: the compiler proves that they hold nothing unsafe.
let pure = house + [.strictMemorySafety()]

func library(_ name: String, _ dependencies: [Target.Dependency] = [], _ settings: [SwiftSetting] = house) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// A system library: its module map and shim stand in `Sources/<name>`, the apt package is named for whoever lacks it.
func system(_ name: String, apt: String) -> Target {
    .systemLibrary(name: name, providers: [.apt([apt])])
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: house)
}

/// Whether an image is built (`Deploy/Dockerfile`): from exact versions of the packages, without the folder of the tests.
let isForImage = ProcessInfo.processInfo.environment["RINGLINE_PINNED"] != nil

/// A package in this version or, unless an image is built, a compatible newer one.
///
/// An image of a commit has the same packages whenever it is built. There is no `Package.resolved`: it names revisions too,
/// and those differ behind mirrors.
func dependency(_ name: String, _ version: Version) -> Package.Dependency {
    let url = "https://github.com/\(name)"
    return isForImage ? .package(url: url, exact: version) : .package(url: url, from: version)
}

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let deques = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heaps = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let testing: [Target] = [
    tests("CallCoreTests", ["CallCore", "CallTesting"]),
    tests("CallWireTests", ["CallWire", "CallCore"]),
    tests("SocketIOTests", ["SocketIO", "CallCore", "CallWire"]),
    tests("SwitchboardTests", ["Switchboard", "CallCore", "CallWire", "CallTesting", "CallClient"]),
    tests("ThreadsTests", ["Threads"]),
    tests("IdentityTests", ["Identity", "Crypto"]),
    tests("SQLiteTests", ["SQLite"]),
    tests(
        "ContractTests",
        ["SQLiteStore", "SQLite", "MemoryStore", "Switchboard", "CallTesting", "CallCore", "Threads"]
    ),
    tests(
        "ApplePushTests",
        ["ApplePush", "OutboundHTTP", "Threads", "Crypto", "Switchboard", "CallCore", logging]
    ),
    // The gateway's loops too: no two contexts of the library may end at a time, see `EveryTest`.
    tests(
        "LibWebSocketsTests",
        ["LibWebSockets", "Threads", "Gateway", "SocketIO", "Switchboard", "CallCore", "CallWire"]
    ),
    tests("CallClientTests", ["CallClient", "CallCore", "CallWire"]),
    tests("SimulationTests", ["Simulation", "Switchboard", "CallClient", "CallCore"]),
    tests("ConfigurationTests", ["ringline"]),
    .target(
        name: "FuzzTargets",
        dependencies: [
            "Switchboard", "SocketIO", "Identity", "LibWebSockets", "SQLiteStore", "SQLite", "CallTesting",
            "CallCore", "CallWire",
        ],
        path: "Tests/Fuzz/Targets",
        swiftSettings: house
    ),
    tests("FuzzTests", ["FuzzTargets"]),
    tests("HouseTests", ["ringline", "CallCore", "CallWire"]),
]

/// The operations whose instructions and allocations are counted.
///
/// For `Tests/Benchmarks/instructions`, which asks for them, and nobody else: the image is built without that folder.
let benchmarks: [Target] =
    ProcessInfo.processInfo.environment["RINGLINE_BENCHMARKS"] == nil
    ? []
    : [
        .executableTarget(
            name: "pure-benchmarks",
            dependencies: ["Switchboard", "SocketIO", "CallCore", "CallWire"],
            path: "Tests/Benchmarks/pure",
            swiftSettings: house
        )
    ]

/// What reads strangers' bytes, for libFuzzer.
///
/// For `Tests/Fuzz/run`, which asks for it, and nobody else: its driver has no main, libFuzzer brings that.
let fuzzing: [Target] =
    ProcessInfo.processInfo.environment["RINGLINE_FUZZ"] == nil
    ? [] : [.executableTarget(name: "ringline-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Driver")]

/// What makes pages of the documentation.
///
/// For `Tests/docs`, which asks for it, and nobody else: it would be fetched by everybody who builds.
let documentation: [Package.Dependency] =
    ProcessInfo.processInfo.environment["RINGLINE_DOCS"] == nil
    ? [] : [.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")]

let package = Package(
    name: "ringline",
    products: [
        .executable(name: "ringline", targets: ["ringline"]),
        .library(name: "CallCore", targets: ["CallCore"]),
        .library(name: "CallClient", targets: ["CallClient"]),
    ],
    dependencies: [
        dependency("apple/swift-argument-parser", "1.8.2"),
        dependency("apple/swift-collections", "1.6.0"),
        dependency("apple/swift-log", "1.16.2"),
    ] + documentation,
    targets: [
        // What decides and does nothing.
        library("CallCore", [], pure),
        library("CallWire", ["CallCore"], pure),
        library("SocketIO", ["CallCore", "CallWire"], pure),
        library("Switchboard", ["CallCore", "CallWire", deques, heaps], pure),

        // Who is this?
        system("COpenSSL", apt: "libssl-dev"),
        library("Crypto", ["COpenSSL"]),
        library("Identity", ["Crypto"]),

        // Locks, threads and clocks, of the system's own.
        library("Threads"),

        // What is kept.
        system("CSQLite", apt: "libsqlite3-dev"),
        library("SQLite", ["CSQLite"]),
        library("SQLiteStore", ["SQLite", "Threads", "Switchboard", "CallCore", logging]),
        library("MemoryStore", ["Switchboard", "CallCore"], pure),

        // Who is woken.
        system("CCurl", apt: "libcurl4-openssl-dev"),
        library("OutboundHTTP", ["CCurl", "Threads"]),
        library("ApplePush", ["OutboundHTTP", "Threads", "Crypto", "Switchboard", "CallCore", logging]),

        // Who is connected.
        system("CLibwebsockets", apt: "libwebsockets-dev"),
        library("LibWebSockets", ["CLibwebsockets", "Threads"]),
        library(
            "Gateway",
            [
                "LibWebSockets", "Threads", "Switchboard", "SocketIO", "CallCore", "CallWire", "Identity", "Crypto",
                logging,
                deques,
            ]
        ),

        .executableTarget(
            name: "ringline",
            dependencies: [
                "Gateway", "Identity", "SQLiteStore", "MemoryStore", "ApplePush", "Switchboard", "CallCore", "CallWire",
                "LibWebSockets", "Threads", "Simulation", "OutboundHTTP",
                "Crypto", arguments, logging,
            ],
            swiftSettings: house
        ),

        // The kit for apps: the call session from one device's point of view.
        library("CallClient", ["CallWire", "CallCore"], pure),

        // The test world: simulated networks, phones and pushes, and the contract suites of the ports.
        library("CallTesting", ["Switchboard", "CallCore", "CallWire"]),
        library("Simulation", ["Switchboard", "CallClient", "CallCore", "CallWire"], pure),
    ] + (isForImage ? [] : testing) + benchmarks + fuzzing,
    swiftLanguageModes: [.v6]
)
