import JSON
import SeededRandom
import Testing

@Suite("The digits of a number")
struct DigitsTests {
    @Test("A number is written as Swift writes it, alone and before another number")
    func asSwift() {
        var numbers: [UInt64] = [0, .max]
        var power: UInt64 = 1
        for _ in 0..<19 {
            numbers += [power - 1, power, power + 1, power * 9 / 2]
            power *= 10
        }
        numbers.append(power)
        var random = SeededGenerator(seed: 1)
        for shift in 0..<64 { numbers.append(UInt64.random(in: 0...UInt64.max, using: &random) >> UInt64(shift)) }
        // The text `,"ts":` as the bits of a word.
        let separator: UInt64 = 0x3A22_7374_222C
        for (number, next) in zip(numbers, numbers.dropFirst() + [1]) {
            var json = JSONWriter()
            json.digits(number)
            #expect(json.bytes == Array(String(number).utf8))
            json = JSONWriter()
            json.digits(number, separator, count: 6, next)
            #expect(json.bytes == Array(#"\#(number),"ts":\#(next)"#.utf8))
        }
    }

    @Test("A string is searched for characters that need an escape at each of its places")
    func escapes() {
        for byte in UInt8.min..<0x80 {
            for (count, place) in [(1, 0), (7, 6), (8, 0), (8, 7), (9, 8), (20, 12), (20, 19)] {
                var text = [UInt8](repeating: UInt8(ascii: "x"), count: count)
                text[place] = byte
                var json = JSONWriter()
                json.escaped(String(decoding: text, as: UTF8.self))
                let isOrdinary = byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
                #expect((json.bytes == text) == isOrdinary, "byte \(byte)")
            }
        }
    }
}
