public import Combine
public import Foundation
public import Intents
public import UIKit

// The part of Apple's SwiftUI that the pages of the kits use, for compiling them where there is no Apple SDK: enough to
// check the types of what a page hands to the kits. Declarations as in https://developer.apple.com/documentation/swiftui;
// nothing is drawn, so most views are of one type here.

/// A part of an app's user interface.
@MainActor @preconcurrency
public protocol View {
    /// What the view consists of.
    associatedtype Body: View
    /// What the view consists of.
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    /// There is no value, and so nothing to draw.
    public typealias Body = Never
}

extension Optional: View where Wrapped: View {
    /// A view that may be absent has no body.
    public typealias Body = Never
}

extension View where Body == Never {
    /// Never asked for: the stub draws nothing.
    public var body: Never { preconditionFailure("the stub draws nothing") }
}

/// Several views.
public struct Views: View {
    init() {}
    /// Such a view has no body.
    public typealias Body = Never
}

/// Puts views together.
@resultBuilder
public enum ViewBuilder {
    /// Several views, one after the other.
    @MainActor public static func buildBlock<each Content: View>(_ content: repeat each Content) -> Views { Views() }
    /// One of two views.
    @MainActor public static func buildEither(first: some View) -> Views { Views() }
    /// One of two views.
    @MainActor public static func buildEither(second: some View) -> Views { Views() }
    /// A view that may be absent.
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
}

extension View {
    /// Called when the app is to go on with an activity.
    public func onContinueUserActivity(
        _ type: String,
        perform: @escaping (NSUserActivity) -> Void
    ) -> some View { self }
    /// Gives the view a size.
    public func frame(height: CGFloat) -> some View { self }
    /// Called when a link opens the app.
    public func onOpenURL(perform: @escaping (URL) -> Void) -> some View { self }
}

/// A text.
public struct Text: View {
    /// Creates a text.
    public init(_ content: String) {}
    /// Such a view has no body.
    public typealias Body = Never
}

/// A field in which the user writes.
public struct TextField: View {
    /// Creates a field with a hint.
    public init(_ title: String, text: Binding<String>) {}
    /// Such a view has no body.
    public typealias Body = Never
}

/// A field whose text is not shown.
public struct SecureField: View {
    /// Creates a field with a hint.
    public init(_ title: String, text: Binding<String>) {}
    /// Such a view has no body.
    public typealias Body = Never
}

/// A button.
public struct Button: View {
    /// Creates a button with a text.
    public init(_ title: String, action: @escaping @MainActor () -> Void) {}
    /// Such a view has no body.
    public typealias Body = Never
}

/// Views below each other.
public struct List: View {
    /// Creates a list.
    public init(@ViewBuilder content: () -> some View) {}
    /// Such a view has no body.
    public typealias Body = Never
}

/// Views beside each other.
public struct HStack: View {
    /// Creates a row.
    public init(@ViewBuilder content: () -> some View) {}
    /// Such a view has no body.
    public typealias Body = Never
}

/// A group of rows with a title.
public struct Section: View {
    /// Creates a group.
    public init(_ title: String, @ViewBuilder content: () -> some View) {}
    /// Such a view has no body.
    public typealias Body = Never
}

/// A view for each value.
public struct ForEach: View {
    /// Creates the views.
    public init<Values: RandomAccessCollection>(
        _ values: Values,
        id: KeyPath<Values.Element, some Hashable>,
        @ViewBuilder content: @escaping (Values.Element) -> some View
    ) {}
    /// Such a view has no body.
    public typealias Body = Never
}

/// A part of the app's interface, such as a window.
@MainActor @preconcurrency
public protocol Scene {
    /// What the scene consists of.
    associatedtype Body: Scene
    /// What the scene consists of.
    @SceneBuilder var body: Body { get }
}

/// Puts scenes together.
@resultBuilder
public enum SceneBuilder {
    /// One scene.
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

extension Scene {
    /// Called when a value changes.
    public func onChange<Value: Equatable>(of value: Value, perform: @escaping (Value) -> Void) -> some Scene { self }
}

/// A window.
public struct WindowGroup: Scene {
    /// Creates a window.
    public init(@ViewBuilder content: () -> some View) {}
    /// The stub draws nothing.
    public var body: WindowGroup { self }
}

/// The app.
@MainActor @preconcurrency
public protocol App {
    /// What the app consists of.
    associatedtype Body: Scene
    /// What the app consists of.
    @SceneBuilder var body: Body { get }
    /// Creates the app.
    init()
}

extension App {
    /// Would run the app.
    public static func main() {}
}

/// Whether the user sees a scene.
public enum ScenePhase: Equatable, Sendable {
    /// As the names say.
    case background, inactive, active
}

/// The values that a view gets from its surroundings.
public struct EnvironmentValues {
    /// Whether the user sees the scene.
    public var scenePhase = ScenePhase.active
}

/// A value of the surroundings.
@propertyWrapper
public struct Environment<Value> {
    private let path: KeyPath<EnvironmentValues, Value>
    /// Creates a property.
    public init(_ path: KeyPath<EnvironmentValues, Value>) { self.path = path }
    /// The value.
    public var wrappedValue: Value { EnvironmentValues()[keyPath: path] }
}

/// A value that belongs to another view.
@propertyWrapper @dynamicMemberLookup
public struct Binding<Value> {
    private let value: Value
    init(to value: Value) { self.value = value }
    /// The value.
    public var wrappedValue: Value {
        get { value }
        nonmutating set {}
    }
    /// A part of the value.
    public subscript<Part>(dynamicMember path: WritableKeyPath<Value, Part>) -> Binding<Part> {
        Binding<Part>(to: value[keyPath: path])
    }
}

/// A value of the view.
@propertyWrapper
public struct State<Value> {
    /// The value.
    public var wrappedValue: Value {
        get { value }
        nonmutating set {}
    }
    /// The value, for a view that changes it.
    public var projectedValue: Binding<Value> { Binding(to: value) }
    private let value: Value
    /// Creates a property.
    public init(wrappedValue: Value) { value = wrappedValue }
}

/// A view of UIKit's.
@MainActor @preconcurrency
public protocol UIViewRepresentable: View where Body == Never {
    /// The kind of view.
    associatedtype UIViewType: UIView
    /// The surroundings of the view.
    typealias Context = UIViewRepresentableContext
    /// Makes the view.
    func makeUIView(context: Context) -> UIViewType
    /// Brings the view up to date.
    func updateUIView(_ view: UIViewType, context: Context)
}

/// The surroundings of a view of UIKit's.
public struct UIViewRepresentableContext {}

/// An object whose changes redraw the view.
@propertyWrapper
public struct ObservedObject<Object: ObservableObject> {
    /// The object.
    public var wrappedValue: Object
    /// Creates a property.
    public init(wrappedValue: Object) { self.wrappedValue = wrappedValue }
}

/// The delegate of the app, which SwiftUI makes.
@MainActor @preconcurrency @propertyWrapper
public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate> {
    /// The delegate.
    public var wrappedValue: Delegate { preconditionFailure("the stub runs no app") }
    /// Would make the delegate.
    public init(_ type: Delegate.Type = Delegate.self) {}
}
