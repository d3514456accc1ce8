import CallCore
import Testing

@Suite("A moment")
struct MomentTests {
    private let ends: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]

    @Test("A sum beyond the range of the type is clamped and never wraps around")
    func adding() {
        for start in ends {
            for span in ends {
                let moment = Moment(milliseconds: start)
                let sum = moment + Moment.Duration(milliseconds: span)
                #expect(span < 0 ? sum <= moment : sum >= moment)
            }
        }
        #expect(Moment(milliseconds: .max) + .seconds(600) == Moment(milliseconds: .max))
        #expect(Moment(milliseconds: .min) + .milliseconds(-1) == Moment(milliseconds: .min))
        #expect(Moment(milliseconds: 5) + .milliseconds(-7) == Moment(milliseconds: -2))
    }

    @Test("A number of seconds beyond the range of the type is clamped")
    func seconds() {
        #expect(
            Moment.Duration.seconds(.max).milliseconds == .max && Moment.Duration.seconds(.min).milliseconds == .min
        )
        #expect(Moment.Duration.seconds(.max / 1_000).milliseconds == .max / 1_000 * 1_000)
        #expect(Moment.Duration.seconds(-3).milliseconds == -3_000)
    }

    @Test("A difference beyond the range of the type is clamped and has the right sign")
    func difference() {
        for one in ends {
            for other in ends {
                let span = (Moment(milliseconds: one) - Moment(milliseconds: other)).milliseconds
                #expect(span.signum() == (one < other ? -1 : one > other ? 1 : 0))
            }
        }
        #expect((Moment(milliseconds: .max) - Moment(milliseconds: -1)).milliseconds == .max)
        #expect((Moment(milliseconds: .min) - Moment(milliseconds: 1)).milliseconds == .min)
    }
}
