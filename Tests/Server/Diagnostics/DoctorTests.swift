import CallCore
import CallPorts
import CallTrace
import Crypto
import Switchboard
import Testing

@testable import Diagnostics
@testable import ringline

@Suite("The doctor")
struct DoctorTests {
    @Test(
        "Few descriptors are a warning, and an error if they are too few for the configured connections",
        arguments: [
            (1_024, nil, Finding.Grade.warning), (1_048_576, nil, .ok), (1_024, 896, .ok), (1_024, 897, .error),
            (64, 1, .error),
        ]
    )
    func descriptors(_ hard: Int, _ wanted: Int?, _ grade: Finding.Grade) {
        #expect(Rating.descriptors(hard: hard, wanted: wanted).grade == grade)
    }

    @Test(
        "A certificate that expires within two weeks is a warning, and a certificate that is not valid now is an error",
        arguments: [
            (0, 100, Finding.Grade.ok), (0, 15, .ok), (0, 13, .warning), (0, 0, .error), (0, -3, .error),
            (1, 100, .error),
        ] as [(Int64, Int64, Finding.Grade)]
    )
    func certificate(_ fromDays: Int64, _ untilDays: Int64, _ grade: Finding.Grade) {
        let now: Int64 = 1_800_000_000
        let finding = Rating.certificate(from: now + fromDays * 86_400, until: now + untilDays * 86_400, at: now)
        #expect(finding.grade == grade)
        #expect((finding.grade == .ok) == (finding.fix == nil))
    }

    @Test("Each setting of a database that may lose commits is found", arguments: [true, false], [true, false])
    func databaseDisk(syncsToDisk: Bool, writesFullPages: Bool) {
        let found = Rating.durability(syncsToDisk: syncsToDisk, writesFullPages: writesFullPages)
        #expect(found.contains { $0.grade == .error && $0.text.contains("fsync is off") } == !syncsToDisk)
        #expect(found.contains { $0.grade == .warning && $0.text.contains("full_page_writes") } == !writesFullPages)
        #expect(found.contains { $0.grade == .ok } == (syncsToDisk && writesFullPages))
    }

    @Test(
        "Without a synchronous standby, or with one that need not write, a fail-over loses commits",
        arguments: [
            ("on", "", Finding.Grade.warning), ("remote_apply", "", .warning), ("remote_write", "b", .warning),
            ("on", "b", .ok), ("remote_apply", "ANY 1 (b, c)", .ok), ("local", "b", .ok), ("off", "b", .ok),
        ]
    )
    func databaseStandby(commit: String, standbys: String, grade: Finding.Grade) {
        let found = Rating.replication(commit: commit, standbys: standbys)
        #expect(found.grade == grade && (standbys.isEmpty || found.text.contains(standbys)))
        #expect(found.text.contains("raises") == (["local", "off"].contains(commit) && grade == .ok))
    }

    @Test(
        "A database's clock that differs by a second is a warning",
        arguments: [(0, .ok), (999, .ok), (-999, .ok), (1_000, .warning), (-1_000, .warning)]
            as [(Int64, Finding.Grade)]
    )
    func databaseClock(ahead: Int64, grade: Finding.Grade) {
        let found = Rating.clock(ofDatabase: ahead)
        #expect(found.grade == grade)
        #expect(found.text.contains("1.0 s behind") == (ahead == -1_000))
    }

    @Test("PostgreSQL before version 13 is an error")
    func databaseVersion() {
        #expect(Rating.database(version: 130_000, "x").grade == .ok)
        #expect(Rating.database(version: 120_022, "x").grade == .error)
        #expect(Rating.database(version: 150_018, "x").text == "PostgreSQL 15.18 at x")
    }

    @Test("A network file system is no error if the database is not on it")
    func networkFileSystem() {
        #expect(Rating.fileSystem("nfs4", "/data").grade == .error)
        #expect(Rating.fileSystem("nfs4", "/data", holdsDatabase: false).grade == .ok)
        #expect(Rating.fileSystem("tmpfs", "/data", holdsDatabase: false).grade == .warning)
    }

    @Test(
        "A file system that is unsafe for a database is an error, and a doubtful file system is a warning",
        arguments: [
            ("ext4", Finding.Grade.ok), ("xfs", .ok), ("btrfs", .ok), ("zfs", .ok), ("nfs4", .error), ("nfs", .error),
            ("cifs", .error), ("smb3", .error), ("fuse.sshfs", .error), ("fuseblk", .error), ("9p", .error),
            ("tmpfs", .warning), ("overlay", .warning), (nil, .warning),
        ] as [(String?, Finding.Grade)]
    )
    func fileSystems(_ kind: String?, _ grade: Finding.Grade) {
        #expect(Rating.fileSystem(kind, "/data").grade == grade)
    }

    @Test(
        "A difference between this machine's clock and Apple's is rated in either direction",
        arguments: [
            (0, Finding.Grade.ok), (9, .ok), (-10, .warning), (299, .warning), (300, .error), (-86_400, .error),
        ] as [(Int64, Finding.Grade)]
    )
    func clock(_ skew: Int64, _ grade: Finding.Grade) throws {
        let finding = try #require(Rating.clock(1_000 + skew, apple: 1_000, isTrusted: false, .production))
        #expect(finding.grade == grade)
        #expect(finding.text.contains("behind") == (skew <= -10))
    }

    @Test("If APNs sends no date, an accepted provider token shows that the clocks are close to each other")
    func clockWithoutDate() {
        #expect(Rating.clock(1_000, apple: nil, isTrusted: true, .sandbox)?.grade == .ok)
        #expect(Rating.clock(1_000, apple: nil, isTrusted: false, .sandbox) == nil)
    }

    @Test("`BadDeviceToken` and, without a topic, `MissingTopic` are rated ok; other refusals are warnings or errors")
    func apns() {
        func grade(_ status: Int, _ reason: String?, topic: String? = "a.voip") -> Finding.Grade {
            Rating.push(.response(status: status, reason: reason, timestamp: nil), .sandbox, topic: topic).grade
        }
        #expect(grade(400, "BadDeviceToken") == .ok && grade(200, nil) == .ok)
        #expect(grade(400, "MissingTopic", topic: nil) == .ok && grade(400, "MissingTopic") == .error)
        #expect(grade(403, "InvalidProviderToken") == .error && grade(400, "TopicDisallowed") == .error)
        #expect(
            grade(503, "ServiceUnavailable") == .warning && grade(429, nil) == .warning && grade(418, nil) == .error
        )
        #expect(Rating.push(.unreachable("x"), .sandbox, topic: nil).grade == .error)
        #expect(Rating.message(.unreachable("x"), project: "p").grade == .error)
        #expect(Rating.message(.notSent("x"), project: "p").grade == .error)
        #expect(Rating.responding(.unreachable("x"), "Web Push, https://push.example", .web).grade == .error)
    }

    @Test("A TURN server's certificate that is not trusted is a warning that contains the reason")
    func turnCertificate() {
        func finding(_ fault: String?) -> Finding {
            Rating.allocation(.init(result: .allocated(lifetimeSeconds: 600), certificateFault: fault), "turns:a")
        }
        #expect(finding(nil) == .ok("TURN turns:a", "granted an allocation for 600 s"))
        #expect(finding("self-signed").grade == .warning && finding("self-signed").text.contains("self-signed"))
    }

    @Test("Each finding is one line without control characters")
    func lines() {
        #expect(Finding.ok("a", "b").line == "ok       a: b")
        #expect(Finding.error("a", "b\u{1B}c", fix: "d").line == #"error    a: b\u{1b}c. Fix: d"#)
        #expect(Finding.warning("a", "b.", fix: "d").line == "warning  a: b. Fix: d")
    }
}

@Suite("The mount table")
struct MountTableTests {
    private let table = MountTable(
        Array(
            """
            22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
            23 22 0:21 / /proc rw - proc proc rw
            24 22 0:30 / /srv/my\\040data rw shared:5 master:2 - nfs4 host:/x rw
            25 22 0:31 / /srv rw - fuse.sshfs host: rw
            26 22 0:32 / /srv rw - xfs /dev/sdb rw
            nonsense

            """.utf8
        )
    )

    @Test(
        "A path belongs to the longest mount point above it, and to the last mount of several at one mount point",
        arguments: [
            ("/", "ext4"), ("/var/lib", "ext4"), ("/proc/self", "proc"), ("/procedure", "ext4"), ("/srv", "xfs"),
            ("/srv/other", "xfs"), ("/srv/my data", "nfs4"), ("/srv/my data/ringline", "nfs4"),
        ]
    )
    func kinds(_ path: String, _ kind: String) { #expect(table.kind(of: path) == kind) }

    @Test("A path is a mount point only if it is mounted itself, as a container's secret is")
    func mountPoints() {
        #expect(table.isMountPoint("/srv/my data") && table.isMountPoint("/"))
        #expect(!table.isMountPoint("/srv/my data/ringline") && !table.isMountPoint("/srv/my"))
    }

    @Test("An empty table returns no kind of file system")
    func none() { #expect(MountTable([]).kind(of: "/") == nil) }
}

@Suite("A STUN message")
struct STUNMessageTests {
    /// The sample of RFC 5769, section 2.4: a request with long-term credentials.
    private static let sample = """
        000100602112a44278ad3433c6ad72c029da412e00060012e3839ee38388e383aae38383e382afe382b900000015001c662f2f3439396b39\
        353464364f4c33346f4c39465354767936347341 0014000b6578616d706c652e6f726700 00080014f67024656dd64a3e02b8e0712e85c9\
        a28ca89666
        """
    private let bytes: [UInt8]

    init() throws { bytes = try #require(Hex.decode(Self.sample.filter { $0 != " " })) }

    @Test("The sample of RFC 5769 is read, and written with the same bytes and the same MESSAGE-INTEGRITY")
    func sample() throws {
        let message = try #require(STUNMessage(bytes))
        #expect(message.kind.rawValue == 1)
        #expect(message[.realm] == Array("example.org".utf8))
        #expect(message[.nonce] == Array("f//499k954d6OL34oL9FSTvy64sA".utf8))
        let user = try #require(message[.username])
        let key = try #require(MD5.hash(user + Array(":example.org:TheMatrIX".utf8)))
        var unsigned = STUNMessage(message.kind, transaction: message.transaction, message.attributes)
        unsigned.attributes.removeLast()
        #expect(unsigned.encoded(key: key) == bytes)
        #expect(message.encoded() == bytes)
    }

    @Test("A message that is cut short, too long or not STUN is refused")
    func broken() {
        for count in 0..<bytes.count { #expect(STUNMessage(Array(bytes.prefix(count))) == nil) }
        #expect(STUNMessage(bytes + [0]) == nil)
        for place in [0, 4, 7] {
            var other = bytes
            other[place] |= 0x80
            #expect(STUNMessage(other) == nil)
        }
        var overlong = bytes
        overlong[23] = 0xFF
        #expect(STUNMessage(overlong) == nil)
    }

    @Test("An error's code and reason phrase are read")
    func error() {
        let value: [UInt8] = [0, 0, 4, 1] + Array("Unauthorized".utf8)
        let error = STUNMessage(.allocationRefused, [.init(name: .errorCode, value: value)]).error
        #expect(error?.code == 401 && error?.reason == "Unauthorized")
        #expect(STUNMessage(.allocated).error == nil)
    }

    @Test(
        "The URL of a TURN server gives the host, port and transport of the probe, which uses TCP instead of DTLS",
        arguments: [
            ("turn:a.example", "a.example", 3_478, false, false),
            ("turn:a.example:1?transport=udp", "a.example", 1, false, false),
            ("turn:a.example:1?transport=tcp", "a.example", 1, true, false),
            ("turns:a.example", "a.example", 5_349, true, true),
            ("turns:a.example?transport=udp", "a.example", 5_349, true, true),
            ("turn:[::1]:2", "::1", 2, false, false), ("turn:[::1]", "::1", 3_478, false, false),
        ]
    )
    func addresses(_ url: String, _ host: String, _ port: Int, _ isTCP: Bool, _ isTLS: Bool) throws {
        let address = try #require(TURNProbe.Address(url))
        #expect(address.host == host && address.port == port)
        #expect(address.isTCP == isTCP && address.isTLS == isTLS)
        #expect(address.isDTLS == url.hasSuffix("a.example?transport=udp"))
        #expect(TURNProbe.Address("stun:a.example") == nil)
    }
}
