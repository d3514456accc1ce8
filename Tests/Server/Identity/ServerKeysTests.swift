import CallCore
import Crypto
import Foundation
import Testing

@testable import Identity

@Suite("The server's own keys")
struct ServerKeysTests {
    private static let day = ServerKeys.periodMilliseconds
    private static let life: Int64 = 240_000
    private static let start: Int64 = 1_800_000_000_000

    private func fields(until: Int64) throws -> RingCapability.Fields {
        .init(
            callId: try #require(CallID("c-1")),
            epoch: 1,
            user: try #require(UserID("10")),
            peer: try #require(UserID("11")),
            device: try #require(DeviceID("b1")),
            validUntilMs: until
        )
    }

    @Test("The file has a line for each key, the newest first, and is read back unchanged")
    func text() {
        let first = ServerKeys(at: Self.start)
        #expect(!first.isDue(at: Self.start + Self.day - 1) && first.isDue(at: Self.start + Self.day))
        let second = first.rotated(at: Self.start + Self.day, life: Self.life)
        #expect(second.former == [first.newest] && second.newest.secret != first.newest.secret)
        #expect(ServerKeys(text: Array(second.text.utf8)) == second)
        // Secret files are read without the newline at their end.
        #expect(ServerKeys(text: Array(second.text.utf8.dropLast())) == second)
        #expect(second.areValid && second.text.split(separator: "\n").count == 2)
    }

    @Test(
        "A file of an earlier version is read as one key of unknown age, which is due for replacement immediately",
        arguments: ["c2VjcmV0", "two words", "a 1\nb", "a -1", "a 1 2", "a 99999999999999999999"]
    )
    func legacy(_ text: String) {
        let keys = ServerKeys(text: Array(text.utf8))
        #expect(keys.newest == .init(secret: Array(text.utf8), madeAt: 0) && keys.former.isEmpty)
        #expect(keys.isDue(at: Self.start) && !keys.areValid)
    }

    @Test("A key that was made while the clock was far ahead is replaced immediately")
    func future() {
        let keys = ServerKeys(at: Self.start + 10 * Self.day)
        #expect(keys.isDue(at: Self.start))
        let next = keys.rotated(at: Self.start, life: Self.life)
        #expect(next.former == [keys.newest] && !next.isDue(at: Self.start + 1))
    }

    @Test("A former key is kept exactly as long as a capability that it signed may be valid")
    func former() {
        var keys = ServerKeys(at: Self.start)
        for minute in 1...10 {
            keys = keys.rotated(at: Self.start + Int64(minute) * 60_000, life: Self.life)
        }
        // The oldest of these five keys was replaced four minutes ago.
        #expect(keys.former.count == 5)
        #expect(keys.rotated(at: Self.start + Self.day, life: Self.life).former.count == 1)
    }

    @Test(
        "A node accepts what another one signed whose midnight comes earlier or later",
        arguments: [-60_000, 0, 60_000]
    )
    func derived(difference: Int64) throws {
        let secret = Array("the secret of all nodes".utf8)
        let midnight = (Self.start / Self.day + 1) * Self.day
        for moment in stride(from: midnight - 120_000, through: midnight + 120_000, by: 15_000) {
            let signer = CapabilitySigner(ServerKeys(derivedFrom: secret, at: moment + difference), life: Self.life)
            let verifier = CapabilitySigner(ServerKeys(derivedFrom: secret, at: moment), life: Self.life)
            let fields = try fields(until: moment + difference + 120_000)
            let capability = signer.issue(fields)
            #expect(verifier.verify(capability, nowMs: moment) == fields, "\(moment - midnight)")
            // ... and until it expires, over midnight.
            let later = CapabilitySigner(ServerKeys(derivedFrom: secret, at: moment + 59_000), life: Self.life)
            #expect(later.verify(capability, nowMs: moment + 59_000) == fields)
        }
        let now = CapabilitySigner(ServerKeys(derivedFrom: secret, at: midnight), life: Self.life)
        for days: Int64 in [-2, 2] {
            let keys = ServerKeys(derivedFrom: secret, at: midnight + days * Self.day)
            let other = CapabilitySigner(keys, life: Self.life)
            #expect(now.verify(other.issue(try fields(until: midnight + 1_000)), nowMs: midnight) == nil)
        }
    }

    @Test("A capability stays valid after its key was replaced, also over a restart, until it expires")
    func reading() throws {
        let first = ServerKeys(at: Self.start)
        let replaced = Self.start + Self.day
        let until = replaced + 100_000
        let capability = try CapabilitySigner(first, life: Self.life).issue(fields(until: until))
        let second = first.rotated(at: replaced, life: Self.life)
        let ring = CapabilitySigner(ServerKeys(text: Array(second.text.utf8)), life: Self.life)
        #expect(try ring.verify(capability, nowMs: until) == fields(until: until))
        #expect(ring.verify(capability, nowMs: until + 1) == nil)
        #expect(try ring.verify(ring.issue(fields(until: until)), nowMs: replaced) == fields(until: until))
        let third = second.rotated(at: replaced + Self.day, life: Self.life)
        #expect(
            CapabilitySigner(third, life: Self.life).verify(capability, nowMs: until) == nil,
            "it is forgotten by then"
        )
    }

    @Test("A stolen former key cannot sign capabilities that are valid longer than the last genuine capabilities")
    func stolen() throws {
        let first = ServerKeys(at: Self.start)
        let replaced = Self.start + Self.day
        let ring = CapabilitySigner(first.rotated(at: replaced, life: Self.life), life: Self.life)
        let thief = RingCapability(serverKey: first.newest.secret)
        let last = replaced + Self.life
        #expect(try ring.verify(thief.issue(fields(until: last)), nowMs: last) == fields(until: last))
        #expect(try ring.verify(thief.issue(fields(until: last + 1)), nowMs: replaced) == nil)
        #expect(try ring.verify(thief.issue(fields(until: .max)), nowMs: replaced + Self.day) == nil)
    }

    @Test("New keys replace the file of the earlier keys, with mode 0600, and leave no temporary file behind")
    func file() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/ringline-keys-\(UInt64.random(in: 0...UInt64.max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let first = try ServerKeys.loadOrCreate(inFolder: folder, at: Self.start)
        #expect(first.newest.madeAt == Self.start && first.areValid)
        #expect(try ServerKeys.loadOrCreate(inFolder: folder, at: Self.start + 1) == first)
        let second = first.rotated(at: Self.start + Self.day, life: Self.life)
        try second.save(inFolder: folder)
        #expect(try ServerKeys.loadOrCreate(inFolder: folder, at: Self.start) == second)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["server-key"])
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/server-key")
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(throws: SecretFileError.self) { try second.save(inFolder: folder + "/none") }
    }
}
