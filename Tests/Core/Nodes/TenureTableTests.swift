import CallCore
import CallPorts
import Testing

@testable import Nodes

/// A tenure of node `a` in each situation, with node `b` as the owner of epoch 5.
enum Situation: CaseIterable, Sendable {
    case searching, connecting, following, claiming, claimingWithLink, gathering, owning, releasing, ended

    static let start = Moment(milliseconds: 1_000_000)
    static let epoch5 = OwnerEpoch(rawValue: 5)
    static let epoch6 = OwnerEpoch(rawValue: 6)
    static let epoch9 = OwnerEpoch(rawValue: 9)

    static func node(_ name: String) throws -> NodeID { try #require(NodeID(name)) }

    static func row(_ name: String, _ epoch: OwnerEpoch, lease: Moment.Duration) throws -> OwnerRow {
        OwnerRow(epoch: epoch, node: try node(name), address: "\(name):1", lease: lease)
    }

    static func released(_ name: String, _ epoch: OwnerEpoch) throws -> OwnerRow {
        var row = try row(name, epoch, lease: .milliseconds(0))
        row.isReleased = true
        return row
    }

    /// The inputs that lead to the situation.
    var inputs: [Tenure.Input] {
        get throws {
            let live = Tenure.Input.rowRead(try Self.row("b", Self.epoch5, lease: .seconds(2)))
            let expired = Tenure.Input.rowRead(try Self.row("b", Self.epoch5, lease: .milliseconds(0)))
            let claiming: [Tenure.Input] = [.started, expired]
            let others: Set<NodeID> = [try Self.node("c"), try Self.node("a")]
            let gathering = claiming + [.claimed(Self.epoch6, others: others)]
            let following: [Tenure.Input] = [.started, live, .linkOpened(Self.epoch5)]
            let owning = gathering + [.nodeAttached(try Self.node("c"))]
            return switch self {
            case .searching: [.started, live, .linkFailed]
            case .connecting: [.started, live]
            case .following: following
            case .claiming: claiming
            case .claimingWithLink: following + [.ownerStalled(true), expired]
            case .gathering: gathering
            case .owning: owning
            case .releasing: owning + [.terminate]
            case .ended: owning + [.commitRefused(Self.epoch6)]
            }
        }
    }

    func tenure() throws -> Tenure {
        var tenure = Tenure(node: try Self.node("a"))
        var effects: [Tenure.Effect] = []
        for input in try inputs { tenure.handle(input, at: Self.start, into: &effects) }
        return tenure
    }
}

@Suite("The table of a tenure")
struct TenureTableTests {
    /// A cell of the table: the state that the input leads to, and its effects.
    private struct Cell {
        let situation: Situation
        let input: Tenure.Input
        let state: Tenure.State
        let effects: [Tenure.Effect]
    }

    private static func inputs() throws -> [Tenure.Input] {
        let a = try Situation.node("a")
        let c = try Situation.node("c")
        return [
            .started, .deadlineReached, .terminate, try live5(), try expired5(), try live9(), .rowUnreadable, .loading,
            .claimed(Situation.epoch6, others: [c]), .claimed(Situation.epoch6, others: []), .claimLost, .claimFailed,
            .commitRefused(Situation.epoch6), .storeStalled(Situation.epoch6, true),
            .storeStalled(Situation.epoch6, false),
            .released(Situation.epoch6), .linkOpened(Situation.epoch5), .linkRefused, .linkFailed, .linkLost(.closed),
            .linkLost(.silent), .ownerStalled(true), .ownerStalled(false), .ownerReleased(heir: a),
            .ownerReleased(heir: c), .ownerReleased(heir: nil), .nodeAttached(c), .nodeDetached(c),
            .heardOf(Situation.epoch5), .heardOf(Situation.epoch9),
            // Results for another ownership.
            .claimed(Situation.epoch9, others: []), .commitRefused(Situation.epoch5), .released(Situation.epoch5),
            .storeStalled(Situation.epoch5, true),
        ]
    }

    private static func live5() throws -> Tenure.Input {
        .rowRead(try Situation.row("b", Situation.epoch5, lease: .seconds(2)))
    }

    private static func expired5() throws -> Tenure.Input {
        .rowRead(try Situation.row("b", Situation.epoch5, lease: .milliseconds(0)))
    }

    private static func live9() throws -> Tenure.Input {
        .rowRead(try Situation.row("c", Situation.epoch9, lease: .seconds(2)))
    }

    /// The cells in which something happens; in all others nothing does.
    private static func cells() throws -> [Cell] {
        let a = try Situation.node("a")
        let b = try Situation.node("b")
        let c = try Situation.node("c")
        let (five, six, nine) = (Situation.epoch5, Situation.epoch6, Situation.epoch9)
        var cells = [
            Cell(situation: .searching, input: try live5(), state: .searching, effects: [.connect(b, address: "b:1")]),
            Cell(situation: .searching, input: try live9(), state: .searching, effects: [.connect(c, address: "c:1")]),
            Cell(
                situation: .searching,
                input: try expired5(),
                state: .claiming(after: five),
                effects: [.claim(after: five, above: five)]
            ),
            Cell(
                situation: .connecting,
                input: try expired5(),
                state: .claiming(after: five),
                effects: [.disconnect, .claim(after: five, above: five)]
            ),
            Cell(situation: .connecting, input: .linkOpened(five), state: .following(five), effects: [.attach(five)]),
            Cell(
                situation: .following,
                input: try live9(),
                state: .searching,
                effects: [.disconnect, .connect(c, address: "c:1")]
            ),
            Cell(
                situation: .following,
                input: .linkLost(.closed),
                state: .searching,
                effects: [.readRow, .connect(b, address: "b:1")]
            ),
            Cell(situation: .following, input: .linkLost(.silent), state: .searching, effects: [.readRow]),
            Cell(situation: .following, input: .ownerStalled(true), state: .following(five), effects: [.readRow]),
            Cell(
                situation: .following,
                input: .ownerReleased(heir: a),
                state: .claiming(after: five),
                effects: [.disconnect, .claim(after: five, above: five)]
            ),
            Cell(situation: .following, input: .heardOf(nine), state: .searching, effects: [.disconnect, .readRow]),
            Cell(
                situation: .claiming,
                input: .claimed(six, others: [c]),
                state: .gathering(six),
                effects: [.gather(six)]
            ),
            Cell(
                situation: .claiming,
                input: .claimed(six, others: []),
                state: .owning(six),
                effects: [.gather(six), .serve(six)]
            ),
            Cell(
                situation: .claiming,
                input: .claimed(nine, others: []),
                state: .owning(nine),
                effects: [.gather(nine), .serve(nine)]
            ),
            Cell(situation: .claiming, input: .claimLost, state: .searching, effects: []),
            Cell(situation: .claiming, input: .claimFailed, state: .searching, effects: [.readRow]),
            Cell(
                situation: .claimingWithLink,
                input: .claimed(six, others: [c]),
                state: .gathering(six),
                effects: [.depose(by: six), .disconnect, .gather(six)]
            ),
            Cell(
                situation: .claimingWithLink,
                input: .claimed(six, others: []),
                state: .owning(six),
                effects: [.depose(by: six), .disconnect, .gather(six), .serve(six)]
            ),
            Cell(
                situation: .claimingWithLink,
                input: .claimed(nine, others: []),
                state: .owning(nine),
                effects: [.depose(by: nine), .disconnect, .gather(nine), .serve(nine)]
            ),
            Cell(
                situation: .claimingWithLink,
                input: .claimLost,
                state: .searching,
                effects: [.disconnect]
            ),
            Cell(situation: .claimingWithLink, input: .claimFailed, state: .following(five), effects: []),
            Cell(situation: .gathering, input: .nodeAttached(c), state: .owning(six), effects: [.serve(six)]),
            Cell(
                situation: .owning,
                input: .terminate,
                state: .releasing(six, heir: c),
                effects: [.release(six, heir: c)]
            ),
            Cell(
                situation: .releasing,
                input: .released(six),
                state: .ended(.released),
                effects: [.announceRelease(heir: c), .drop(six)]
            ),
            Cell(situation: .searching, input: .terminate, state: .ended(.terminated), effects: []),
            Cell(situation: .connecting, input: .terminate, state: .ended(.terminated), effects: [.disconnect]),
            Cell(situation: .following, input: .terminate, state: .ended(.terminated), effects: [.disconnect]),
            Cell(
                situation: .gathering,
                input: .terminate,
                state: .releasing(six, heir: nil),
                effects: [.release(six, heir: nil)]
            ),
        ]
        for heir in [c, nil] {
            cells.append(
                Cell(
                    situation: .following,
                    input: .ownerReleased(heir: heir),
                    state: .searching,
                    effects: [.disconnect, .readRow]
                )
            )
        }
        for heir in [a, c, nil] {
            cells.append(
                Cell(
                    situation: .claimingWithLink,
                    input: .ownerReleased(heir: heir),
                    state: .claiming(after: five),
                    effects: [.disconnect]
                )
            )
        }
        let owning: [(Situation, Tenure.State)] = [
            (.gathering, .gathering(six)), (.owning, .owning(six)), (.releasing, .releasing(six, heir: c)),
        ]
        for (situation, state) in owning {
            for (input, epoch) in [(try live9(), nine), (.commitRefused(six), nil), (.heardOf(nine), nine)] {
                cells.append(
                    Cell(
                        situation: situation,
                        input: input,
                        state: .ended(.deposed(by: epoch)),
                        effects: [.drop(six)]
                    )
                )
            }
            cells.append(
                Cell(
                    situation: situation,
                    input: .storeStalled(six, true),
                    state: state,
                    effects: [.announceStall(true)]
                )
            )
        }
        // The store of a claim that nobody waits for is closed.
        let unwanted: [(OwnerEpoch, Set<NodeID>)] = [(six, [c]), (six, []), (nine, [])]
        for situation in Situation.allCases {
            let state = try situation.tenure().state
            if case .claiming = state { continue }
            let own = try situation.tenure().ownEpoch
            for (epoch, others) in unwanted where epoch != own {
                cells.append(
                    Cell(
                        situation: situation,
                        input: .claimed(epoch, others: others),
                        state: state,
                        effects: [.release(epoch, heir: nil)]
                    )
                )
            }
        }
        return cells
    }

    @Test("Every input in every situation leads to the state of the table", arguments: Situation.allCases)
    func table(_ situation: Situation) throws {
        let cells = try Self.cells().filter { $0.situation == situation }
        var found = 0
        for input in try Self.inputs() {
            var tenure = try situation.tenure()
            let before = tenure.state
            var effects: [Tenure.Effect] = []
            tenure.handle(input, at: Situation.start, into: &effects)
            let cell = cells.first { $0.input == input }
            if cell != nil { found += 1 }
            #expect(tenure.state == cell?.state ?? before, "\(situation), \(input)")
            #expect(effects == cell?.effects ?? [], "\(situation), \(input)")
        }
        #expect(found == cells.count, "each cell's input is among the inputs")
    }

    @Test("A tenure that is to end neither claims nor serves", arguments: Situation.allCases)
    func terminating(_ situation: Situation) throws {
        var tenure = try situation.tenure()
        var effects: [Tenure.Effect] = []
        tenure.handle(.terminate, at: Situation.start, into: &effects)
        for input in try Self.inputs() {
            var later = tenure
            effects = []
            later.handle(input, at: Situation.start, into: &effects)
            let isWrong = effects.contains { effect in
                switch effect {
                case .claim, .gather, .serve, .connect, .attach: true
                default: false
                }
            }
            #expect(!isWrong, "\(situation), \(input): \(effects)")
        }
    }
}
