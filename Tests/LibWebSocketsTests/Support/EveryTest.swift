import Testing

/// All suites of this module, one test at a time.
///
/// When a context is destroyed, libwebsockets 4.1.6 closes the descriptor of its event pipe twice. A server that ends with its
/// process does not mind; tests that make descriptors meanwhile would lose one.
@Suite("LibWebSockets", .serialized)
enum EveryTest {}
