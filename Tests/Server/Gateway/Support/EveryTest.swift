import ServerTesting
import Testing

/// The parent suite of all tests that run an event loop.
@Suite("Gateway", .serialized, .oneLoop)
enum EveryTest {}
