import FoundationEssentials
import Testing

@Suite("The modules that decide")
struct PurityTests {
    // The store in memory has a lock: several threads call it.
    private static let pure = Repository.sources.filter {
        $0.wing == "Core" && $0.target != "MemoryStore" || ["CallClient", "ClientBridge"].contains($0.target)
    }

    @Test("These modules read no clock")
    func noClock() {
        let clocks =
            /\bDate\b|\b(Continuous|Suspending)Clock\b|\bTask\.sleep|\bDispatch\w+|\b(clock_)?gettime(ofday)?\b|\.now\(\)/
        let parts = ["Date", "Clock", "Task.sleep", "Dispatch", "gettime", ".now()"]
        expectNone(places(of: clocks, inLinesWith: parts), "the time is an argument")
    }

    @Test("These modules draw no random number")
    func noChance() {
        let generator =
            /\bSystemRandomNumberGenerator\b|\.random\((?!.*using:)|\.(shuffled|shuffle|randomElement)\(\)|\bUUID\(\)|\barc4random|\bgetrandom\b/
        let parts = ["Random", "random", "shuffle", "UUID()"]
        expectNone(places(of: generator, inLinesWith: parts), "the random number generator is an argument")
    }

    @Test("These modules start no task or thread, and take no lock")
    func noThreads() {
        let threads = /\bTask\s*[{.(]|\bThread\b|\bMutex\b|\bAtomic<|\bNSLock\b|\bwithTaskGroup\b|\bawait\b|\basync\b/
        let parts = ["Task", "Thread", "Mutex", "Atomic", "NSLock", "await", "async"]
        expectNone(places(of: threads, inLinesWith: parts), "one loop owns all calls")
    }

    @Test("These modules read no environment variable and no file, and write to no terminal")
    func noWorld() {
        let world = /\bgetenv\b|\bProcessInfo\b|\bCommandLine\b|\bprint\(|\bdebugPrint\(|\breadLine\(|\bfopen\b/
        let parts = ["getenv", "ProcessInfo", "CommandLine", "rint(", "readLine", "fopen"]
        expectNone(places(of: world, inLinesWith: parts), "code that decides has no effects")
    }

    @Test("A switch in the call core names every case")
    func noDefault() {
        // Identifiers switch over bytes, numbers and pairs of optionals, whose cases cannot all be named. The state
        // machines switch over our own types, and each such switch must decide about a new case.
        let machines = Self.pure.filter {
            $0.target == "CallCore" && !$0.path.contains(/\/(Identifiers|PlainText)\//)
        }
        expectNone(
            machines.flatMap {
                $0.places(of: /^\s*(@unknown )?default\s*:|\{\s*default\s*:/, inLinesWith: ["default"])
            },
            "names no cases, so that a new case would compile without a decision"
        )
    }

    @Test(
        "A module of the kit for apps uses no type that needs iOS 26",
        arguments: ["CallCore", "JSON", "CallWire", "CallClient", "RinglineKit", "RinglineCallKit"]
    )
    func runsOnOlderPhones(_ target: String) {
        let files = Repository.sources.filter { $0.target == target }
        #expect(!files.isEmpty)
        expectNone(
            files.flatMap {
                $0.places(
                    of: /^[^\/]*\b(InlineArray|UTF8Span|utf8Span)\b/,
                    inLinesWith: ["InlineArray", "TF8Span", "tf8Span"]
                )
            },
            "the kit for apps contains this module"
        )
    }

    /// The modules that `Sources/Clients/RinglineJS/build` compiles to WebAssembly.
    private static let embedded = ["CallCore", "JSON", "CallWire", "CallClient", "ClientBridge"]

    @Test("A module of the kit for JavaScript uses nothing that embedded Swift lacks", arguments: embedded)
    func compilesForWebAssembly(_ target: String) {
        let files = Repository.sources.filter { $0.target == target }
        #expect(!files.isEmpty)
        expectNone(
            files.flatMap { $0.places(of: /\\\.[A-Za-z]/, inLinesWith: ["\\."]) },
            "a closure instead of a key path"
        )
        expectNone(
            files.flatMap { $0.places(of: /\bany [A-Z]/, inLinesWith: ["any "]) },
            "embedded Swift has no existential types"
        )
        expectNone(
            files.flatMap(\.imports).filter { !Self.embedded.contains($0.module) }.map(\.place),
            "there is neither Foundation nor a C library"
        )
        // Embedded Swift returns another text without an error.
        let reflected = files.flatMap { file in
            file.lines.indices.filter { file.code[$0] != "" && file.lines[$0].contains(/^[^\/]*"\\\(self\)"/) }
                .map { "\(file.path):\($0 + 1)" }
        }
        expectNone(reflected, "the name of a case needs reflection: write it out")
    }

    @Test("Sources/Clients/RinglineJS/build compiles these modules")
    func buildsTheseModules() {
        let script = Repository.text(of: "Sources/Clients/RinglineJS/build")
        #expect(script.contains("modules=(\(Self.embedded.joined(separator: " ")))\n"))
    }

    @Test("These modules are compiled with strict memory safety")
    func strictMemorySafety() {
        let package = Repository.text(of: "Package.swift")
        for module in Set(Self.pure.map(\.target)).sorted() {
            let words = package.split(whereSeparator: \.isWhitespace).joined(separator: " ").replacing("( ", with: "(")
            let declaration = words.components(separatedBy: "library(\"\(module)\",").dropFirst().first
            let settings = declaration?.prefix { $0 != ")" }.split(separator: ",").last
            #expect(settings?.contains("pure") == true, "\(module) is built with the pure settings")
        }
        #expect(package.contains("let pure = house + [.strictMemorySafety()]"))
    }

    private func places(of pattern: Regex<some Any>, inLinesWith parts: [String]) -> [String] {
        Self.pure.flatMap { $0.places(of: pattern, inLinesWith: parts) }
    }
}
