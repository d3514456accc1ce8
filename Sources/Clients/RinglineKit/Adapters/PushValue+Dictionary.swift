public import CallClient
import Foundation

extension PushValue {
    /// Converts the dictionary of a push, from PushKit or from a notification; a key that is no text is left out.
    public static func values(of dictionary: [AnyHashable: Any]) -> [String: PushValue] {
        var values: [String: PushValue] = [:]
        for (name, value) in dictionary {
            if let name = name as? String { values[name] = PushValue(value) }
        }
        return values
    }

    /// Converts a value of a push's dictionary.
    ///
    /// On Apple's platforms a boolean is a number there, and the core takes 1 for true.
    init(_ value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let number as NSNumber:
            let double = number.doubleValue
            self = Int64(exactly: double).map { .int($0) } ?? .double(double)
        case let flag as Bool: self = .bool(flag)
        case let number as Int: self = .int(Int64(number))
        case let number as Double: self = .double(number)
        case is NSNull: self = .null
        case is [Any], is [String: Any]: self = Self.json(value)
        default: self = .other
        }
    }

    /// Converts a dictionary or an array.
    private static func json(_ value: Any) -> PushValue {
        // A push comes from JSON, and can be written as JSON. Of another one the core reads nothing.
        guard JSONSerialization.isValidJSONObject(value),
            // Such an object is not refused.
            let json = try? JSONSerialization.data(withJSONObject: value)
        else { return .other }
        return .json(String(decoding: json, as: UTF8.self))
    }
}
