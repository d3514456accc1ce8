import CallCore
import CallPorts
import CallWire
import Foundation
import LibWebSockets
import ServerTesting
import Switchboard
import Testing
import Threads

@testable import Gateway

extension EveryTest {
    @Suite("Bytes in transit between two event loops")
    struct SocketLoopTests {
        @Test("A producer has to wait above the limit until the consumer has taken some bytes")
        func backpressure() {
            var limit = BackpressureLimit(100)
            #expect(limit.enter(60) != nil)
            // The limit is checked before the bytes are added, so bytes larger than the whole limit pass too.
            #expect(limit.enter(600) != nil)
            #expect(limit.enter(1) == nil)
            limit.leave(600)
            #expect(limit.enter(1) != nil)
        }

        @Test("No producer waits any more after the consumer has stopped")
        func lifted() throws {
            let limit = Monitor(BackpressureLimit(1))
            limit.wait { $0.enter(1) }
            let producers = try (0..<4).map { _ in
                try WorkThread(named: "producer") { limit.wait { $0.enter(1) } }
            }
            limit.withLock { $0.lift() }
            for producer in producers { producer.join() }
        }

        @Test("Frames overflow when too many bytes wait for their loop, until the loop has taken them")
        func commands() throws {
            let world = try LoopWorld()
            let handle = world.handle
            let frame = Frame(withHeadroom: [UInt8](repeating: 0, count: 1 << 20))
            let socket = SocketID(rawValue: 1 << 32 | 1 << 24)
            // The loop does not run yet, so it takes nothing.
            for number in 0..<63 {
                #expect(handle.sendFrame(frame, to: socket), "frame \(number)")
                handle.flush()
            }
            #expect(!handle.sendFrame(frame, to: socket))
            try #require(handle.start())
            #expect(wait(seconds: 10) { handle.bytesUnderWay == 0 })
            #expect(handle.sendFrame(frame, to: socket))
            world.end()
        }

        @Test("A loop stops reading while the gateway takes nothing; afterwards all messages arrive in order")
        func events() throws {
            let world = try LoopWorld()
            try #require(world.handle.start())
            let sender = try Sender(port: world.port)
            let messages = 600
            let sent = Monitor(0)
            Thread {
                for number in 0..<messages {
                    sender.send(number)
                    sent.withLock { $0 += 1 }
                }
            }.start()
            // The gateway takes nothing, and 36 MB exceed the bytes that a loop may have read plus the kernel's buffers.
            #expect(wait(seconds: 10) { world.heldBytes >= LoopLimits.events - 70_000 })
            #expect(!wait(seconds: 2) { sent.withLock { $0 == messages } })
            #expect(world.heldBytes < LoopLimits.events + (1 << 22))
            world.takeAll()
            #expect(wait(seconds: 10) { world.numbers.count == messages })
            #expect(world.numbers == Array(0..<messages))
            world.end()
        }

        @Test("A loop closes a reader that is too slow, and reports that once, however many frames are sent to it")
        func tooSlow() throws {
            let world = try LoopWorld {
                $0.maxQueueBytes = 1 << 16
                $0.closeTimeoutSeconds = 1
            }
            world.takeAll()
            try #require(world.handle.start())
            let reader = try Sender(port: world.port)
            #expect(wait(seconds: 10) { world.opened.count == 1 })
            let socket = try #require(world.opened.first)
            // 30 MB do not fit into the kernel's buffers.
            let frame = Frame(repeatElement(0x20, count: 50_000))
            for _ in 0..<30 {
                for _ in 0..<20 { #expect(world.handle.sendFrame(frame, to: socket)) }
                world.handle.flush()
            }
            #expect(wait(seconds: 10) { world.closed == [socket] })
            #expect(world.tooSlow == [socket])
            withExtendedLifetime(reader) {}
            world.end()
        }
    }
}

/// A second loop beside a first loop that never runs, with a record of the events that it passes on.
private final class LoopWorld {
    private struct Told {
        var opened: [SocketID] = []
        var closed: [SocketID] = []
        var tooSlow: [SocketID] = []
        var numbers: [Int] = []
        var held: [@Sendable () -> Void] = []
        var heldBytes = 0
        var takes = false

        mutating func note(_ event: LoopEvent) {
            switch event {
            case .socket(.opened(let socket, _, _)): opened.append(socket)
            case .socket(.closed(let socket, _)): closed.append(socket)
            case .socket(.tooSlow(let socket)): tooSlow.append(socket)
            case .socket(.received(_, let bytes)):
                heldBytes += bytes.count
                numbers.append(Int(String(decoding: bytes.prefix { $0 != 0x20 }, as: UTF8.self)) ?? -1)
            default: break
            }
        }
    }

    private struct AcceptingAuthenticator: Authenticator {
        func authenticate(_ token: String, atSeconds now: Int64) throws(AuthenticationError) -> Principal {
            guard let user = UserID("11") else { throw .invalid("") }
            return Principal(user: user, fingerprint: TokenFingerprint(rawValue: 1))
        }
        func authenticate(capability: String, atMilliseconds now: Int64) throws(AuthenticationError) -> Principal {
            try authenticate("", atSeconds: 0)
        }
    }

    let handle: SocketLoopHandle
    let port: Int
    private let first: Server
    private let told: Monitor<Told>

    init(_ configure: (inout ServerConfiguration) -> Void = { _ in }) throws {
        var configuration = GatewayConfiguration()
        configuration.server.host = "127.0.0.1"
        configuration.server.loops = 2
        configure(&configuration.server)
        first = try Server(configuration: configuration.server)
        port = first.port
        let told = Monitor(Told())
        self.told = told
        let batches = LoopEventBatches { events, taken in
            let takes = told.withLock { told in
                for event in events { told.note(event) }
                if !told.takes { told.held.append(taken) }
                return told.takes
            }
            if takes { taken() }
        }
        let loop = SocketLoop(
            try Server(beside: first, loop: 1),
            router: RequestRouter(configuration, authenticator: AcceptingAuthenticator()),
            sessions: SessionIndex(),
            sink: .batches(batches),
            isSilent: nil
        )
        handle = SocketLoopHandle(loop)
        // Now every connection comes to the loop that runs.
        first.stopListening()
    }

    var opened: [SocketID] { told.withLock { $0.opened } }
    var closed: [SocketID] { told.withLock { $0.closed } }
    var tooSlow: [SocketID] { told.withLock { $0.tooSlow } }
    var heldBytes: Int { told.withLock { $0.heldBytes } }
    var numbers: [Int] { told.withLock { $0.numbers } }

    func takeAll() {
        let held = told.withLock { told in
            told.takes = true
            return told.held
        }
        for taken in held { taken() }
    }

    func end() {
        handle.loop.stop()
        handle.join()
    }
}

/// A WebSocket client on one blocking socket.
private final class Sender: Sendable {
    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(connected == 0)
        write(
            Array(
                """
                GET /ws?token=t HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n
                """.utf8
            )
        )
        var response = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &response, response.count, 0)
        try #require(String(decoding: response.prefix(max(0, count)), as: UTF8.self).hasPrefix("HTTP/1.1 101"))
    }

    deinit { close(descriptor) }

    /// Sends a text of 60,000 bytes: a number, followed by blanks.
    func send(_ number: Int) {
        var frame = Self.blank
        for (index, byte) in "\(number)".utf8.enumerated() { frame[8 + index] = byte }
        write(frame)
    }

    /// A final text frame of 60,000 blanks, masked with zeros.
    private static let blank =
        [0x81, 0x80 | 126, UInt8(60_000 >> 8), UInt8(60_000 & 255), 0, 0, 0, 0]
        + [UInt8](repeating: 0x20, count: 60_000)

    private func write(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }
}
