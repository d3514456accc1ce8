import Testing

/// The parent suite of all tests that run an event loop; they run one at a time.
///
/// When a context is destroyed, libwebsockets 4.1.6 closes the descriptor of its event pipe twice. A server that ends
/// with its process is not affected, but a test that opens a descriptor in between could lose it.
@Suite("LibWebSockets", .serialized)
enum EveryTest {}
