import Testing

@Suite("What decides")
struct PurityTests {
    private static let modules: Set<String> = [
        "CallCore", "JSON", "CallWire", "CallPorts", "CallTrace", "SocketIO", "Switchboard",
    ]
    private static let pure = Repository.sources.filter { modules.contains($0.target) }

    @Test("reads no clock")
    func noClock() {
        let clocks =
            /\bDate\b|\b(Continuous|Suspending)Clock\b|\bTask\.sleep|\bDispatch\w+|\b(clock_)?gettime(ofday)?\b|\.now\(\)/
        expectNone(places(of: clocks), "the time is an argument")
    }

    @Test("draws no random number")
    func noChance() {
        let chance =
            /\bSystemRandomNumberGenerator\b|\.random\((?!.*using:)|\.(shuffled|shuffle|randomElement)\(\)|\bUUID\(\)|\barc4random|\bgetrandom\b/
        expectNone(places(of: chance), "chance is an argument")
    }

    @Test("starts no task or thread, and takes no lock")
    func noThreads() {
        let threads = /\bTask\s*[{.(]|\bThread\b|\bMutex\b|\bAtomic<|\bNSLock\b|\bwithTaskGroup\b|\bawait\b|\basync\b/
        expectNone(places(of: threads), "one loop owns all calls")
    }

    @Test("reads no environment, no file, and writes to no terminal")
    func noWorld() {
        let world = /\bgetenv\b|\bProcessInfo\b|\bCommandLine\b|\bprint\(|\bdebugPrint\(|\breadLine\(|\bfopen\b/
        expectNone(places(of: world), "what decides does nothing")
    }

    @Test("names every case of a switch in the call core")
    func noDefault() {
        // Identifiers switch over bytes, numbers and pairs of optionals, which cannot be named one by one; what a machine
        // switches over is ours, and a new case must be thought of everywhere.
        let machines = Self.pure.filter { $0.target == "CallCore" && !$0.path.contains("/Identifiers/") }
        expectNone(
            machines.flatMap { $0.places(of: /^\s*(@unknown )?default\s*:|\{\s*default\s*:/) },
            "every case has a name; a new one must be thought of here"
        )
    }

    @Test(
        "runs in apps: it has nothing that iOS knows only from 26 on",
        arguments: ["CallCore", "JSON", "CallWire", "CallClient"]
    )
    func runsOnOlderPhones(_ target: String) {
        let files = Repository.sources.filter { $0.target == target }
        #expect(!files.isEmpty)
        expectNone(
            files.flatMap { $0.places(of: /^[^\/]*\b(InlineArray|UTF8Span|utf8Span)\b/) },
            "the kit for apps is made of these"
        )
    }

    @Test("is compiled with strict memory safety")
    func strictMemorySafety() {
        let package = Repository.text(of: "Package.swift")
        for module in Self.modules {
            let line = package.split(separator: "\n").first { $0.contains("library(\"\(module)\"") }
            #expect(line?.hasSuffix(", pure),") == true, "\(module) is built with the pure settings")
        }
        #expect(package.contains("let pure = house + [.strictMemorySafety()]"))
    }

    private func places(of pattern: Regex<some Any>) -> [String] { Self.pure.flatMap { $0.places(of: pattern) } }
}
