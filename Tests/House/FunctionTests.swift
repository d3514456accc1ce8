import Testing

@Suite("The functions")
struct FunctionTests {
    private static let limit = 60

    @Test("No function is longer than 60 lines")
    func functionsAreShort() {
        let functions = Repository.sources.flatMap(\.functions)
        #expect(functions.count > 4_000, "the functions were not found")
        expectNone(
            Self.tooLong(functions),
            "a function of more than 60 lines does more than one thing: give a part of it a name"
        )
    }

    @Test("A long function is found, however its declaration and its body look")
    func findsLongFunctions() {
        func body(_ lines: Int) -> String { String(repeating: "        step()\n\n", count: lines / 2) }
        let file = SwiftFile(
            path: "Sources/X/A.swift",
            text: """
                protocol P {
                    func required(_ number: Int)
                    init()
                }

                struct A: P {
                    func oneLine() { step() }
                    // func inAComment() {
                    @inline(__always)
                    package static func longest(_ number: Int) {
                \(body(58))    }

                    mutating func tooLong(
                        _ number: Int
                    ) -> Int
                    where A: P
                    {
                \(body(58))    }

                    private init?(_ text: String) throws {
                        func inside() {
                            step()
                        }
                        self.init("}")
                \(body(56))    }
                }

                """
        )
        let lengths = file.functions.map { "\($0.name) \($0.length)" }
        #expect(lengths == ["oneLine 1", "longest 60", "tooLong 64", "init 62", "inside 3"])
        let long = Self.tooLong(file.functions)
        #expect(long == ["Sources/X/A.swift:71: tooLong has 64 lines", "Sources/X/A.swift:136: init has 62 lines"])
    }

    private static func tooLong(_ functions: [SwiftFile.Function]) -> [String] {
        functions.filter { $0.length > limit }
            .map { "\($0.path):\($0.line): \($0.name) has \($0.length) lines" }
    }
}
