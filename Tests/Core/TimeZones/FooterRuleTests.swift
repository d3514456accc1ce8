import CallCore
import Testing
import TimeZones

@Suite("The TZ string in a footer")
struct FooterRuleTests {
    private func rules(_ text: String) throws(TZifError) -> TimeZoneRules {
        var file = TZifFile()
        file.version = UInt8(ascii: "3")
        file.footer = "\n\(text)\n"
        return try TimeZoneRules(tzif: file.bytes)
    }

    @Test(
        "Every form of POSIX and of version 3 has its meaning",
        arguments: [
            ("CET-1", "2026-07-01T00:00", 3_600),
            ("<+03>-3", "2026-07-01T00:00", 10_800),
            ("<-1234567>12:34:56", "2026-07-01T00:00", -45_296),
            ("AAA+24:59:59", "2026-07-01T00:00", -89_999),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T00:59", 3_600),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T01:00", 7_200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T00:59", 7_200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-10-25T01:00", 3_600),
            // An explicit offset, negative daylight saving time.
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-01-01T00:00", 0),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", "2026-07-01T00:00", 3_600),
            // Hours before the day, and after its end: Nuuk, Gaza and Jerusalem.
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T00:59", -7_200),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29T01:00", -3_600),
            ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-27T23:59", 7_200),
            ("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-28T00:00", 10_800),
            ("AAA0BBB,0/167,J365/-167", "2026-01-07T22:59", 0),
            ("AAA0BBB,0/167,J365/-167", "2026-01-07T23:00", 3_600),
            ("AAA0BBB,0/167,J365/-167", "2026-12-23T23:59", 3_600),
            ("AAA0BBB,0/167,J365/-167", "2026-12-24T00:00", 0),
            // J60 is always 1 March; n counts 29 February.
            ("AAA0BBB,J60/0,J300", "2028-02-29T23:59", 0),
            ("AAA0BBB,J60/0,J300", "2028-03-01T00:00", 3_600),
            ("AAA0BBB,J60/0,J300", "2027-03-01T00:00", 3_600),
            ("AAA0BBB,59/0,J300", "2028-02-29T00:00", 3_600),
            ("AAA0BBB,59/0,J300", "2027-02-28T23:59", 0),
            ("AAA0BBB,59/0,J300", "2027-03-01T00:00", 3_600),
            // A change in the year before its own, and two in the year after.
            ("AAA0BBB,0/-100,J200", "2026-12-27T19:59", 0),
            ("AAA0BBB,0/-100,J200", "2026-12-27T20:00", 3_600),
            ("AAA0BBB,J365/167,J365/101", "2027-01-02T00:00", 3_600),
            ("AAA0BBB,J365/167,J365/101", "2027-01-05T00:00", 0),
            // Daylight saving time for the whole year.
            ("EST5EDT,0/0,J365/25", "2026-01-01T04:59", -14_400),
            ("EST5EDT,0/0,J365/25", "2026-01-01T05:00", -14_400),
            ("EST5EDT,0/0,J365/25", "2026-07-01T05:00", -14_400),
            ("XXX3EDT4,0/0,J365/23", "2026-01-01T04:00", -14_400),
        ]
    )
    func forms(_ text: String, _ utc: String, _ offset: Int) throws {
        #expect(try rules(text).offset(at: .utc(utc)) == offset)
    }

    @Test("A gap is found also if it is not in the year to which its change belongs")
    func gapsInOtherYears() throws {
        let (january, december) = try (rules("AAA0BBB,J365/100,J200"), rules("AAA0BBB,0/-100,J200"))
        #expect(try january.moment(of: local("2027-01-04T04:30")) == .utc("2027-01-04T04:00"))
        #expect(try december.moment(of: local("2026-12-27T20:30")) == .utc("2026-12-27T20:00"))
    }

    @Test(
        "A malformed string is refused",
        arguments: [
            "C", "CE-1", "CET", "CET-", "CET-25", "CET-1:60", "CET-1:00:60", "CET-1:", "<+3>-3", "<+03-3", "<>0",
            "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,", "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-1CEST,",
            "CET-1CEST,M0.5.0,M10.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.0.0,M10.5.0",
            "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,M3.5,M10.5.0", "AAA0BBB,J0,J1",
            "AAA0BBB,J366,J1", "AAA0BBB,366,J1", "AAA0BBB,0/168,J1", "AAA0BBB,0/-168,J1", "AAA0BBB,0/,J1",
            "AAA0BBB,0000,J1", "AAA--1", "AAA1B", " CET-1", "CET-1 ", "CET-1,M3.5.0,M10.5.0", ":Europe/Berlin",
            "AAA99999999999999999999",
        ]
    )
    func malformed(_ text: String) { #expect(throws: TZifError.badFooter) { try rules(text) } }
}
