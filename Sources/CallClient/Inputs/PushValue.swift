/// A value in a push's dictionary, of any kind.
///
/// ```swift
/// func value(_ value: Any) -> PushValue {
///     switch value {
///     case let text as String: .string(text)
///     case let number as NSNumber where CFGetTypeID(number) == CFBooleanGetTypeID(): .bool(number.boolValue)
///     case let number as NSNumber: Int64(exactly: number).map { .int($0) } ?? .double(number.doubleValue)
///     case is NSNull: .null
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
    /// A dictionary, an array or anything else; the core reads none of it.
    case other
}
