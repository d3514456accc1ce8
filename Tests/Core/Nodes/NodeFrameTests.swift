import CallCore
import CallPorts
import SeededRandom
import Testing

@testable import Nodes

@Suite("A frame between nodes")
struct NodeFrameTests {
    @Test("Every frame is read as it was written", arguments: FrameSamples.all)
    func roundTrip(_ frame: NodeFrame) throws {
        var stream = provenStream()
        stream.append(try FrameSamples.bytes(frame))
        #expect(try stream.next() == frame)
        #expect(try stream.next() == nil)
    }

    @Test("The bytes of the samples are those that nodes of earlier releases send and read")
    func bytesStay() throws {
        // FNV-1a over all frames: a new sample changes the sum, a changed byte of an old one must not.
        var sum: UInt64 = 0xCBF2_9CE4_8422_2325
        for frame in FrameSamples.ofVersion2 {
            for byte in try FrameSamples.bytes(frame, version: 2) { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        #expect(sum == 0xBE2C_8F99_0108_207E)
    }

    @Test("A node of the version before gets an identity without the claims of its token")
    func claims() throws {
        let claims = Array(#""role":"nurse","ward":{"floor":7}"#.utf8)
        let field = [0, 0, 0, UInt8(claims.count)] + claims
        let now = try FrameSamples.bytes(FrameSamples.nurses)
        let before = try FrameSamples.bytes(FrameSamples.nurses, version: 2)
        #expect(now.count == before.count + field.count)
        // The field is the last one of the identity; the flag of the device follows.
        #expect(Array(now.dropFirst(4)) == Array(before.dropFirst(4).dropLast()) + field + [0])
        var stream = provenStream()
        stream.version = 2
        stream.append(before)
        guard case .event(90, .opened(_, let principal, device: nil)) = try stream.next() else {
            Issue.record("another frame was read")
            return
        }
        #expect(principal == FrameSamples.principals[0])
        var long = principal
        long.claims = Array(repeating: 0x20, count: Principal.claimsBytes + 1)
        var bytes: [UInt8] = []
        #expect(!NodeFrame.event(1, .opened(SocketID(rawValue: 1), long, device: nil)).encode(into: &bytes))
    }

    @Test("The samples have every kind of frame, event and command")
    func samplesAreComplete() {
        let frames = Set(FrameSamples.all.compactMap { FrameSamples.payload($0)?.first })
        #expect(frames == Set(1...14))
        let events = FrameSamples.all.compactMap { if case .event = $0 { FrameSamples.payload($0)?[9] } else { nil } }
        #expect(Set(events) == Set(1...9))
        let commands = FrameSamples.all.compactMap {
            if case .command = $0 { FrameSamples.payload($0)?[1] } else { nil }
        }
        #expect(Set(commands) == Set(1...8))
    }

    @Test("A frame that ends early is an error that names a field", arguments: FrameSamples.all)
    func truncated(_ frame: NodeFrame) throws {
        let payload = try #require(FrameSamples.payload(frame))
        for length in 0..<payload.count {
            let error = try #require(throws: NodeFrameError.self) {
                try NodeFrame(decoding: ArraySlice(payload.prefix(length)))
            }
            #expect(error.fault == .truncated && error.field.contains("."), "\(length) bytes: \(error.message)")
        }
    }

    @Test("Bytes behind the last field are an error", arguments: FrameSamples.all)
    func trailing(_ frame: NodeFrame) throws {
        let payload = try #require(FrameSamples.payload(frame))
        #expect(throws: NodeFrameError("frame.end", .trailing)) { try NodeFrame(decoding: (payload + [0])[...]) }
    }

    @Test("Unknown kinds are errors")
    func unknown() throws {
        for kind: UInt8 in [0, 15, 255] {
            #expect(throws: NodeFrameError("frame.kind", .unknown)) { try NodeFrame(decoding: [kind]) }
        }
        #expect(throws: NodeFrameError("refused.reason", .unknown)) { try NodeFrame(decoding: [3, 6]) }
        #expect(throws: NodeFrameError("event.kind", .unknown)) {
            try NodeFrame(decoding: [7, 0, 0, 0, 0, 0, 0, 0, 1, 10])
        }
        #expect(throws: NodeFrameError("command.kind", .unknown)) { try NodeFrame(decoding: [9, 9]) }
    }

    @Test("A field that is longer than it may be is an error, before its bytes arrive")
    func tooLong() {
        let over: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
        let socket: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1]
        let faults: [([UInt8], String)] = [
            ([2] + over, "proof.code"),
            ([1, 0, 1, 0, 1] + over, "hello.node"),
            ([9, 1] + socket + over, "send.message"),
            ([9, 1] + socket + [0, 0, 0, 0] + over, "send.marks"),
            ([9, 3] + socket + [3, 0xE9] + over, "close.reason"),
            ([12, 1] + over, "released.heir"),
            ([7] + socket + [2] + socket + over, "head.method"),
        ]
        for (bytes, field) in faults {
            let error = #expect(throws: NodeFrameError.self) { try NodeFrame(decoding: bytes[...]) }
            #expect(error?.field == field && error?.fault == .tooLong, "\(field): \(error?.message ?? "none")")
        }
    }

    @Test("A value without its form is an error")
    func invalid() throws {
        #expect(throws: NodeFrameError("storeStalled.isStalled", .invalid)) { try NodeFrame(decoding: [6, 2]) }
        #expect(throws: NodeFrameError("released.heir", .invalid)) {
            try NodeFrame(decoding: [12, 1, 0, 0, 0, 1, 0x20])
        }
        #expect(throws: NodeFrameError("proof.code", .invalid)) { try NodeFrame(decoding: [2, 0, 0, 0, 1, 7]) }
        let respond: [UInt8] = [9, 5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 99]
        #expect(throws: NodeFrameError("respond.status", .invalid)) { try NodeFrame(decoding: respond[...]) }
        // A reason that is not UTF-8.
        let close: [UInt8] = [9, 3, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0xE9, 0, 0, 0, 1, 0xFF, 0]
        #expect(throws: NodeFrameError("close.reason", .invalid)) { try NodeFrame(decoding: close[...]) }
    }

    @Test("A frame that its reader would refuse is not written")
    func doesNotFit() {
        let long = String(repeating: "x", count: NodeLimits.textBytes + 1)
        let socket = SocketID(rawValue: 1)
        let frames: [NodeFrame] = [
            .event(1, .openedSocketIO(socket, RequestHead(path: long))),
            .event(1, .received(socket, Array(repeating: 65, count: NodeLimits.frameBytes))),
            .event(
                1,
                .openedSocketIO(
                    socket,
                    RequestHead(path: "/", protocols: Array(repeating: "a", count: NodeLimits.listCount + 1))
                )
            ),
        ]
        for frame in frames {
            var bytes: [UInt8] = [1, 2, 3]
            let hasWritten = frame.encode(into: &bytes)
            #expect(!hasWritten && bytes == [1, 2, 3])
        }
    }

    @Test("Damaged frames give an error or a frame that is written as it was read", arguments: 1...20)
    func damaged(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let payloads = FrameSamples.all.compactMap(FrameSamples.payload)
        var errors = 0
        for _ in 0..<2_000 {
            var bytes = payloads[random.below(payloads.count)]
            for _ in 0...random.below(3) { damage(&bytes, &random) }
            do throws(NodeFrameError) {
                let frame = try NodeFrame(decoding: bytes[...])
                // One frame has one form: the strict reader accepts no other bytes for it.
                #expect(FrameSamples.payload(frame) == bytes)
            } catch {
                errors += 1
                #expect(error.field.contains(".") && !error.message.isEmpty)
            }
        }
        #expect(errors > 500, "the damage does harm")
    }

    private func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let place = random.below(bytes.count)
        switch random.below(6) {
        case 0: bytes[safe: place] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes[safe: place]? ^= 1 << UInt8(random.below(8))
        case 2: bytes.removeLast(random.below(bytes.count))
        case 3: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
        case 4: bytes[safe: place] = 0xFF
        default: bytes.append(contentsOf: bytes.suffix(random.below(12)))
        }
    }
}

private func provenStream() -> FrameStream {
    var stream = FrameStream()
    stream.isProven = true
    return stream
}

@Suite("The bytes of a link")
struct FrameStreamTests {
    @Test("Frames are found however their bytes arrive", arguments: 1...10)
    func pieces(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var bytes: [UInt8] = []
        for frame in FrameSamples.all { #expect(frame.encode(into: &bytes)) }
        var stream = provenStream()
        var read: [NodeFrame] = []
        while !bytes.isEmpty {
            let count = min(bytes.count, 1 + random.below(40))
            stream.append(bytes.prefix(count))
            bytes.removeFirst(count)
            while let frame = try stream.next() { read.append(frame) }
        }
        #expect(read == FrameSamples.all)
    }

    @Test("A length beyond the limit is an error at once, and for ever")
    func length() {
        var stream = provenStream()
        stream.append([0xFF, 0xFF, 0xFF, 0xFF])
        #expect(throws: NodeFrameError("frame.length", .tooLong)) { try stream.next() }
        stream.append([0, 0, 0, 1, 11])
        #expect(throws: NodeFrameError("frame.length", .tooLong)) { try stream.next() }
    }

    @Test("A side that has not proved itself may send a hello and a proof, and nothing large")
    func unproven() throws {
        let name = String(repeating: "n", count: NodeID.maximumBytes)
        let hello = Hello(
            node: try #require(NodeID(name)),
            epoch: OwnerEpoch(rawValue: .max),
            isOwner: true,
            challenge: Array(repeating: 1, count: NodeLimits.challengeBytes)
        )
        var stream = FrameStream()
        stream.append(try FrameSamples.bytes(.hello(hello)))
        stream.append(try FrameSamples.bytes(.proof(Array(repeating: 2, count: NodeLimits.proofBytes))))
        #expect(try stream.next() == .hello(hello))
        #expect(try stream.next() != nil)
        stream.append([0, 0, 4, 0])
        #expect(throws: NodeFrameError("frame.length", .tooLong)) { try stream.next() }
    }

    @Test("A large frame that came together with the proof is read when the proof was found right")
    func proven() throws {
        let proof = NodeFrame.proof(Array(repeating: 2, count: NodeLimits.proofBytes))
        let large = NodeFrame.event(1, .received(SocketID(rawValue: 1), Array(repeating: 65, count: 60_000)))
        var stream = FrameStream()
        stream.append(
            try FrameSamples.bytes(proof) + FrameSamples.bytes(large) + FrameSamples.bytes(.ping(7)).dropLast()
        )
        #expect(try stream.next() == proof)
        stream.isProven = true
        #expect(try stream.next() == large)
        #expect(try stream.next() == nil)
        stream.append(try FrameSamples.bytes(.ping(7)).suffix(1))
        #expect(try stream.next() == .ping(7))
    }
}

@Suite("A hello")
struct HelloTests {
    private func hello(_ node: String, versions: ClosedRange<UInt16> = 1...1, epoch: UInt64 = 1) throws -> Hello {
        Hello(
            version: versions.upperBound,
            oldestVersion: versions.lowerBound,
            node: try #require(NodeID(node)),
            epoch: OwnerEpoch(rawValue: epoch),
            isOwner: false,
            challenge: Array(repeating: 7, count: NodeLimits.challengeBytes)
        )
    }

    @Test("Two nodes agree on the newest version that both speak")
    func versions() throws {
        #expect(try hello("a", versions: 2...3).agreedVersion(with: try hello("b", versions: 1...2)) == 2)
        #expect(try hello("a", versions: 1...2).agreedVersion(with: try hello("b", versions: 2...3)) == 2)
        #expect(try hello("a", versions: 3...4).agreedVersion(with: try hello("b", versions: 1...2)) == nil)
    }

    @Test("This build and a node of the version before read each other's hello, and agree on that version")
    func previousVersion() throws {
        let challenge = Array(repeating: UInt8(7), count: NodeLimits.challengeBytes)
        let node = try #require(NodeID("a"))
        let now = Hello(node: node, epoch: OwnerEpoch(rawValue: 1), isOwner: false, challenge: challenge)
        let before = try hello("b", versions: 2...2)
        #expect(now.agreedVersion(with: before) == 2)
        #expect(before.agreedVersion(with: now) == 2)
        for hello in [now, before] {
            // Its form is that of all versions: a side writes and reads it before the two have agreed.
            let bytes = try FrameSamples.bytes(.hello(hello), version: 2)
            #expect(try FrameSamples.bytes(.hello(hello), version: 3) == bytes)
            for version: UInt16 in 2...3 {
                var stream = FrameStream()
                stream.version = version
                stream.append(bytes)
                #expect(try stream.next() == .hello(hello))
            }
        }
    }

    @Test("The proven bytes change with each part of both hellos, and with the side")
    func proof() throws {
        let a = try hello("a")
        let b = try hello("b")
        var forged = a
        forged.challenge[31] = 8
        let all = [
            Hello.provenBytes(of: .client, client: a, server: b),
            Hello.provenBytes(of: .server, client: a, server: b),
            Hello.provenBytes(of: .client, client: b, server: a),
            Hello.provenBytes(of: .client, client: forged, server: b),
            Hello.provenBytes(of: .client, client: a, server: try hello("b", epoch: 2)),
            Hello.provenBytes(of: .client, client: a, server: try hello("b", versions: 1...2)),
        ]
        #expect(Set(all).count == all.count)
    }
}

extension Array {
    /// The element at a place, if the array has it; writing to another place does nothing.
    fileprivate subscript(safe place: Int) -> Element? {
        get { indices.contains(place) ? self[place] : nil }
        set { if let newValue, indices.contains(place) { self[place] = newValue } }
    }
}
