import CallPorts
import CallWire
import LibWebSockets
import Synchronization
import Threads

/// The gateway's end of a loop on another thread; used on the gateway's thread only.
///
/// Commands go to the loop in one batch per turn of the gateway. A batch keeps the order of its commands, and a busy
/// gateway wakes the loop once for many of them.
final class SocketLoopHandle {
    let loop: SocketLoop
    /// The number of connections that the loop last reported; `nil` before its first report.
    var connections: Int?

    private var thread: WorkThread?
    private var commands: [LoopCommand] = []
    private var bytes = 0
    private let underWay = ByteCount()

    /// The bytes of commands that were passed to the loop and not carried out yet.
    private final class ByteCount: Sendable {
        let bytes = Atomic<Int>(0)
    }

    init(_ loop: SocketLoop) { self.loop = loop }

    /// Starts the loop on a new thread; returns false if the system provides no thread.
    func start() -> Bool {
        // The error is ignored: the caller reports that there is no thread.
        thread = try? WorkThread(named: "loop \(loop.server.loop)") { [loop] in loop.run() }
        return thread != nil
    }

    /// Waits until the stopped loop has ended.
    func join() {
        thread?.join()
        thread = nil
    }

    /// The bytes of commands that were passed to the loop and not carried out yet; the commands of this turn are not
    /// among them, because they have not been passed on.
    var bytesUnderWay: Int { underWay.bytes.load(ordering: .relaxed) }

    /// Queues a frame, which is passed to the loop at the end of the gateway's turn.
    ///
    /// Returns false if too many bytes already wait for the loop.
    func sendFrame(_ frame: Frame, to socket: SocketID) -> Bool {
        guard bytes + frame.bytes.count + bytesUnderWay <= LoopLimits.commands else { return false }
        queue(.socket(.send(frame, socket, marks: [])), bytes: frame.bytes.count)
        return true
    }

    /// Queues a command, which is passed to the loop at the end of the gateway's turn; `bytes` is its payload's size.
    func queue(_ command: LoopCommand, bytes more: Int = 0) {
        commands.append(command)
        bytes += more + LoopLimits.overhead
    }

    /// Passes the queued commands to the loop, at the end of the gateway's turn.
    func flush() {
        guard !commands.isEmpty else { return }
        var batch: [LoopCommand] = []
        batch.reserveCapacity(commands.count)
        swap(&batch, &commands)
        let bytes = bytes
        self.bytes = 0
        underWay.bytes.wrappingAdd(bytes, ordering: .relaxed)
        loop.server.post { [loop, underWay, batch] in
            for command in batch { loop.carryOut(command.withOwnFrame) }
            underWay.bytes.wrappingSubtract(bytes, ordering: .relaxed)
        }
    }
}

extension LoopCommand {
    /// The command with a copy of its frame.
    ///
    /// libwebsockets writes a header into the headroom, the spare bytes in front of the message. If several loops sent
    /// the same array, they would write into its headroom at the same time.
    fileprivate var withOwnFrame: LoopCommand {
        guard case .socket(.send(let frame, let socket, let marks)) = self else { return self }
        // The headroom is skipped without even reading it, because another loop may be writing to it.
        return .socket(.send(Frame(frame.message), socket, marks: marks))
    }
}
