// The part of Apple's Combine that the pages of the kits use, for compiling them where there is no Apple SDK.
// Declarations as in https://developer.apple.com/documentation/combine.

/// An object whose changes redraw views.
public protocol ObservableObject: AnyObject {}

/// A property whose changes redraw views.
@propertyWrapper
public struct Published<Value> {
    /// The value.
    public var wrappedValue: Value
    /// Creates a property.
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
}
