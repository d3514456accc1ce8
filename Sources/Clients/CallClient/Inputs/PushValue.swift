/// A value in a push's dictionary, of any kind.
///
/// ```swift
/// func value(_ value: Any) -> PushValue {
///     switch value {
///     case let text as String: .string(text)
///     case let number as NSNumber where CFGetTypeID(number) == CFBooleanGetTypeID(): .bool(number.boolValue)
///     case let number as NSNumber: Int64(exactly: number).map { .int($0) } ?? .double(number.doubleValue)
///     case is NSNull: .null
///     case is [Any], is [String: Any]:
///         (try? JSONSerialization.data(withJSONObject: value)).map { .json(String(decoding: $0, as: UTF8.self)) } ?? .other
///     default: .other
///     }
/// }
/// ```
public enum PushValue: Equatable, Sendable {
    /// A string.
    case string(String)
    /// An integer.
    case int(Int64)
    /// A boolean.
    case bool(Bool)
    /// A number that is no integer.
    case double(Double)
    /// A null.
    case null
    /// A dictionary or an array, as JSON text; the core reads the data of a scheduled call from it.
    case json(String)
    /// Anything else, or a dictionary or an array that was not converted; the core reads none of it.
    case other
}
