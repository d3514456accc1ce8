import CallCore
import CallPorts
import CallWire
import SeededRandom
import Testing

@testable import Nodes

/// An edge with random clients and owners, beside a simple account of what each client may rely on.
@Suite("An edge whose owners change")
struct AttachmentRandomTests {
    /// A client's socket as the account knows it.
    private struct Account {
        var unconfirmed: Set<UInt64> = []
        var isBound = false
        var seen: [CallNumber: UInt64] = [:]

        mutating func confirm(upTo number: UInt64) { unconfirmed = unconfirmed.filter { $0 > number } }
    }

    private struct World {
        var random: SeededGenerator
        var bench: AttachmentBench
        var accounts: [SocketID: Account] = [:]
        var epoch: UInt64? = 5
        var newestEpoch: UInt64 = 5
        var lastNumber: UInt64 = 0
        var confirmed: UInt64 = 0
        var nextSocket: UInt64 = 1
        var adoptions = 0
        var closings = 0

        init(seed: UInt64) throws {
            random = SeededGenerator(seed: seed)
            bench = try AttachmentBench()
        }

        mutating func step() {
            switch random.below(20) {
            case 0..<3: open()
            case 3..<9: receive()
            case 9..<13: confirm()
            case 13..<15: send()
            case 15: bind()
            case 16: close()
            case 17: if epoch != nil { take(bench.give(.detached)) }
            case 18: attach()
            default: take(bench.wait(Int64(random.below(1_200))))
            }
        }

        private mutating func anySocket() -> SocketID? {
            let sockets = accounts.keys.sorted { $0.rawValue < $1.rawValue }
            return sockets.isEmpty ? nil : sockets[random.below(sockets.count)]
        }

        private mutating func open() {
            let socket = SocketID(rawValue: nextSocket)
            nextSocket += 1
            accounts[socket] = Account()
            take(bench.give(.event(.opened(socket, bench.principal, device: bench.principal.device))))
        }

        private mutating func receive() {
            guard let socket = anySocket() else { return }
            take(bench.give(.event(.received(socket, [UInt8(truncatingIfNeeded: random.next())]))))
        }

        private mutating func confirm() {
            guard let epoch, lastNumber > confirmed else { return }
            let isPartial = random.below(3) == 0
            confirmed += isPartial ? 1 + UInt64(random.below(Int(lastNumber - confirmed))) : lastNumber - confirmed
            for socket in accounts.keys {
                accounts[socket]?.confirm(upTo: confirmed)
            }
            take(bench.give(.confirmed(AttachmentBench.epoch(epoch), upTo: confirmed)))
        }

        private mutating func send() {
            guard let socket = anySocket() else { return }
            let mark = LogMark(
                CallNumber(rawValue: Int64(1 + random.below(5))),
                seq: UInt64(1 + random.below(50))
            )
            let isStale = random.below(4) == 0
            let effects = bench.command(
                .send(Frame([]), socket, marks: [mark]),
                of: isStale ? newestEpoch - 1 : newestEpoch
            )
            #expect(effects.isEmpty == (isStale || epoch == nil), "only the owner of now is obeyed")
            if !effects.isEmpty {
                accounts[socket]?.seen[mark.call] = mark.seq
            }
        }

        private mutating func bind() {
            guard epoch != nil, let socket = anySocket() else { return }
            let isBound = random.below(2) == 0
            accounts[socket]?.isBound = isBound
            _ = bench.command(.bind(socket, isBound), of: newestEpoch)
        }

        private mutating func close() {
            guard let socket = anySocket() else { return }
            accounts[socket] = nil
            take(bench.give(.event(.closed(socket, code: nil))))
        }

        private mutating func attach() {
            if random.below(3) > 0 { newestEpoch += 1 }
            take(bench.give(.attached(AttachmentBench.epoch(newestEpoch))))
            epoch = newestEpoch
        }

        /// Carries out effects, and checks each against the account.
        private mutating func take(_ effects: [Attachment.Effect]) {
            for effect in effects {
                switch effect {
                case .pass(let number, let event):
                    #expect(number == lastNumber + 1, "no number is left out or given twice")
                    lastNumber = number
                    if let socket = event.socket, event.needsConfirmation {
                        accounts[socket]?.unconfirmed.insert(number)
                    }
                case .adopt(let adopted):
                    adoptions += 1
                    // A socket that its client closed in the gap is adopted for the messages that it had sent.
                    guard let account = accounts[adopted.socket] else { continue }
                    #expect(account.unconfirmed.isEmpty, "an adopted socket has nothing unconfirmed")
                    #expect(!account.isBound, "an adopted socket has no room")
                    let seen = Dictionary(uniqueKeysWithValues: adopted.seen.map { ($0.call, $0.seq) })
                    #expect(seen == account.seen)
                case .adoptionComplete:
                    confirmed = lastNumber
                    epoch = newestEpoch
                case .carryOut(.close(let socket, let code, _, _)):
                    closings += 1
                    #expect(code == 1001)
                    let account = accounts.removeValue(forKey: socket)
                    #expect(account != nil, "an open socket is closed, once")
                    if let account, epoch != nil {
                        #expect(!account.unconfirmed.isEmpty || account.isBound, "no socket is closed in vain")
                    }
                case .carryOut, .refuse, .rejectInput, .ready: break
                case .endLink(let fault): Issue.record("the owner broke no rule: \(fault)")
                }
            }
            if bench.attachment.epoch == nil { epoch = nil }
        }
    }

    @Test("Each socket is adopted or closed as its client can rely on it", arguments: 1...40)
    func keepsAccount(_ seed: UInt64) throws {
        var world = try World(seed: seed)
        for _ in 0..<3_000 { world.step() }
        #expect(world.adoptions > 50 && world.closings > 50, "\(world.adoptions) and \(world.closings)")
    }
}
