/// A value in a push's dictionary, of whatever kind.
public enum PushValue: Equatable, Sendable {
    /// A string.
    case string(String)
    /// A whole number.
    case int(Int64)
    /// A boolean.
    case bool(Bool)
    /// Any other number.
    case double(Double)
    /// Nothing.
    case null
    /// A dictionary, an array, or anything else: none of it is read.
    case other
}
