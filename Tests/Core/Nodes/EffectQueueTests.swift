import Testing

@testable import Nodes

@Suite("The effects of a machine")
struct EffectQueueTests {
    /// A shell that carries out numbers; an even number brings the machine an input with the effects of its halves.
    private final class Shell {
        var effects = EffectQueue<Int>()
        var performed: [Int] = []
        /// The effect with which the run of the machine ends.
        var last = 0

        func handle(_ added: Int...) {
            effects.added += added
            guard effects.begin() else { return }
            while let effect = effects.next() {
                performed.append(effect)
                if effect == last { effects.removeAll() }
                if effect % 2 == 0 { handle(effect / 2, 1) }
            }
            effects.end()
        }
    }

    @Test("are carried out in order, those of an input that an effect causes after all others")
    func order() {
        let shell = Shell()
        shell.handle(4, 3, 7)
        #expect(shell.performed == [4, 3, 7, 2, 1, 1, 1])
        shell.handle(5)
        #expect(shell.performed.suffix(1) == [5])
    }

    @Test("end with the run of the machine, and the next run begins with none")
    func ends() {
        let shell = Shell()
        shell.last = 3
        shell.handle(4, 3, 7)
        #expect(shell.performed == [4, 3])
        shell.handle(9)
        #expect(shell.performed == [4, 3, 9])
    }
}
