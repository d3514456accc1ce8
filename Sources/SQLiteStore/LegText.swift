import CallCore
import CallPorts
import FoundationEssentials

/// The legs of a call as the JSON text of one column.
///
/// They change with their call and are never queried without it.
enum LegText {
    /// Returns the text of these legs.
    ///
    /// `[{"device":"iphone-a","mark":"ff","caller":true,"phase":"active"}]`
    static func encode(_ legs: [LegRecord]) -> String {
        guard !legs.isEmpty else { return "[]" }
        var text = "["
        for leg in legs {
            if text.utf8.count > 1 { text += "," }
            text += #"{"device":""#
            text += leg.phone.id.text  // device ids need no escape
            text += #"","mark":""#
            text += String(leg.phone.mark.rawValue, radix: 16)
            text += leg.isCaller ? #"","caller":true,"phase":""# : #"","caller":false,"phase":""#
            append(leg.phase, to: &text)
            text += #""}"#
        }
        text += "]"
        return text
    }

    /// Returns the legs in a text that ``encode(_:)`` wrote; `nil` for any other text.
    static func decode(_ text: String) -> [LegRecord]? {
        if text == "[]" { return [] }
        // The kind of the JSON error is not needed: the caller reports which call it is.
        guard let legs = try? JSONDecoder().decode([Leg].self, from: Data(text.utf8)) else { return nil }
        var records: [LegRecord] = []
        for leg in legs {
            guard let device = DeviceID(leg.device), let mark = UInt64(leg.mark, radix: 16) else { return nil }
            records.append(
                LegRecord(
                    phone: Phone(id: device, mark: TokenMark(rawValue: mark)),
                    isCaller: leg.caller,
                    phase: leg.phase
                )
            )
        }
        return records
    }

    private struct Leg: Decodable {
        let device: String
        let mark: String
        let caller: Bool
        let phase: String
    }

    private static func append(_ words: String, to text: inout String) {
        let isPlain = words.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        guard !isPlain else { return text += words }
        for scalar in words.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\0"..<" ":
                text += scalar.value < 16 ? "\\u000" : "\\u00"
                text += String(scalar.value, radix: 16)
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
