package import Testing

/// Lets only one test at a time run an event loop, in whatever module it is.
///
/// When a context is destroyed, libwebsockets 4.1.6 closes the descriptor of its event pipe twice. A server that ends
/// with its process is not affected, but a test that opens a descriptor in between could lose it.
package struct OneLoop: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing body: @Sendable () async throws -> Void
    ) async throws {
        await Turns.shared.enter()
        do {
            try await body()
        } catch {
            await Turns.shared.leave()
            throw error
        }
        await Turns.shared.leave()
    }

    private actor Turns {
        static let shared = Turns()
        private var isTaken = false
        private var waiting: [CheckedContinuation<Void, Never>] = []

        func enter() async {
            guard isTaken else {
                isTaken = true
                return
            }
            await withCheckedContinuation { waiting.append($0) }
        }

        func leave() {
            guard waiting.isEmpty else { return waiting.removeFirst().resume() }
            isTaken = false
        }
    }
}

extension Trait where Self == OneLoop {
    /// The test, or each test of the suite, runs while no other test with this trait does.
    package static var oneLoop: OneLoop { OneLoop() }
}
