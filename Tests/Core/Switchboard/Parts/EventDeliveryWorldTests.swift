import CallCore
import CallPorts
import Foundation
import SeededRandom
import Testing

@testable import Switchboard

@Suite("Events in worlds where everything fails")
struct EventDeliveryWorldTests {
    /// The worlds that are run.
    static let seeds: [UInt64] = {
        // More of them, or one alone, when the delivery was changed.
        if let one = ProcessInfo.processInfo.environment["EVENT_WORLD"].flatMap(UInt64.init) { return [one] }
        return Array(1...(ProcessInfo.processInfo.environment["EVENT_WORLDS"].flatMap(UInt64.init) ?? 10))
    }()

    @Test("Each event is delivered, parked or deleted, and in order within its call", arguments: seeds)
    func world(seed: UInt64) throws {
        var world = EventWorld(seed: seed)
        do {
            try world.start()
            for _ in 0..<(30 + world.random.below(120)) { try Self.disturb(&world) }
            try Self.comeToRest(&world)
            guard world.readCount <= 10 * world.sends + 50_000 else {
                throw EventWorld.Broken(description: "\(world.readCount) reads for \(world.sends) requests")
            }
        } catch {
            throw EventWorld.Broken(description: "seed \(seed): \(error)")
        }
    }

    /// Something happens, and time passes.
    private static func disturb(_ world: inout EventWorld) throws {
        let url = world.urls[world.random.below(world.urls.count)]
        switch world.random.below(100) {
        case 0..<50: try world.addEvents(1 + world.random.below(world.chance(10) ? 200 : 12))
        case 50..<65:
            world.endpoints[url]?.mode = EventWorld.Mode.allCases[world.random.below(EventWorld.Mode.allCases.count)]
        case 65..<72:
            let calls = world.live.filter { _ in world.chance(30) }
            for call in calls { world.endpoints[url]?.poison.insert(call) }
        case 72..<75: world.endpoints[url]?.poison.removeAll()
        case 75..<85: try world.start()
        case 85..<88: world.readFailures = [0, 0, 10, 60][world.random.below(4)]
        case 88..<91: try resend(&world, world.chance(50) ? url : nil)
        case 91..<92:
            let newest = world.store.durable.newest.rawValue
            try world.forget(upTo: EventPosition(rawValue: Int64(world.random.below(Int(newest) + 1))))
        case 92..<94: world.now = world.now + .seconds(Int64(world.random.below(4 * 24 * 3_600)))
        case 94..<95: world.now = world.now - .seconds(Int64(world.random.below(3_600)))
        default: break
        }
        try world.run(pause(&world))
    }

    private static func pause(_ world: inout EventWorld) -> Moment.Duration {
        switch world.random.below(10) {
        case 0..<5: .milliseconds(Int64(world.random.below(200)))
        case 5..<8: .seconds(Int64(world.random.below(20)))
        case 8: .seconds(Int64(world.random.below(1_000)))
        default: .seconds(Int64(world.random.below(20 * 3_600)))
        }
    }

    private static func resend(_ world: inout EventWorld, _ url: String?) throws {
        for url in world.urls { world.endpoints[url]?.notBefore.removeAll() }
        if world.chance(50) {
            try world.input { _ = $0.resend(.parked(since: $1 - .seconds(100_000)), to: url, at: $1, into: &$2) }
        } else {
            let position = EventPosition(
                rawValue: 1 + Int64(world.random.below(Int(world.store.durable.newest.rawValue) + 1))
            )
            world.resent.insert(position)
            try world.input { _ = $0.resend(.event(position), to: url, at: $1, into: &$2) }
        }
    }

    /// The endpoints accept everything, but for single calls; then these, too.
    private static func comeToRest(_ world: inout EventWorld) throws {
        world.readFailures = 0
        // The operator's demand comes before the endpoint's.
        for url in world.urls {
            world.endpoints[url]?.mode = .healthy
            world.endpoints[url]?.notBefore.removeAll()
        }
        try world.input { _ = $0.resend(.parked(since: $1 + .seconds(1)), to: nil, at: $1, into: &$2) }
        for _ in 0..<20 {
            try world.run(.seconds(3_600))
            try world.forget(upTo: world.store.rows.forgottenUpTo)
        }
        for url in world.urls {
            let calls = world.endpoints[url]?.poison ?? []
            let missing = world.missing(url).filter { position in
                world.events[position]?.call.map { !calls.contains($0) } ?? true
            }
            guard missing.isEmpty else {
                throw EventWorld.Broken(description: "wait for others: " + world.told(missing, url))
            }
            world.endpoints[url]?.poison.removeAll()
        }
        try world.input { _ = $0.resend(.parked(since: Moment(milliseconds: 0)), to: nil, at: $1, into: &$2) }
        for _ in 0..<20 {
            try world.run(.seconds(3_600))
            try world.forget(upTo: world.store.rows.forgottenUpTo)
        }
        try world.checkSettled()
        for url in world.urls {
            let missing = world.missing(url)
            guard missing.isEmpty else {
                throw EventWorld.Broken(description: "not delivered: " + world.told(missing, url))
            }
            let held = world.store.durable.held[url] ?? [:]
            guard held.isEmpty else {
                throw EventWorld.Broken(description: "held: " + world.told(held.keys.sorted(), url))
            }
        }
    }
}
