import CallCore
import CallPorts
import CallWire

/// The user and the device of a connection, as the frames of their signals name them.
///
/// It is a class because each signal hands it from function to function.
final class Sender {
    private let device: DeviceID
    private let encoded: EncodedSender

    init(_ user: UserID, _ device: DeviceID) {
        self.device = device
        encoded = EncodedSender(user, device)
    }

    /// Returns the encoded names for a signal of `device`; `nil` if that is another device, for which this one acts.
    func encoded(for device: DeviceID) -> EncodedSender? { device == self.device ? encoded : nil }
}

/// The sender of a signal, by whichever transport the signal came.
///
/// It is a class because a connection makes it once for all its signals.
final class Source {
    let user: UserID
    let device: DeviceIdentity
    /// The encoded names of user and device, if the signal came on a connection.
    let sender: Sender?
    let name: String?
    let transport: Transport
    /// Whether the sender is a service, which may set any displayed name.
    let isService: Bool
    /// The members of the sender's token that the app's backend is told, as the token has them.
    let claims: [UInt8]

    init(
        user: UserID,
        device: DeviceIdentity,
        sender: Sender? = nil,
        name: String?,
        transport: Transport,
        isService: Bool = false,
        claims: [UInt8] = []
    ) {
        self.user = user
        self.device = device
        self.sender = sender
        self.name = name
        self.transport = transport
        self.isService = isService
        self.claims = claims
    }

    /// Returns the device that acts in a call.
    ///
    /// A device with an id acts for itself. A device without an id may act for a device that is in the call.
    func actingDevice(in call: Call, on side: Side) -> DeviceIdentity {
        device.isUnnamed ? call.session.actingDevice(for: device, on: side) : device
    }

    /// The transport by which a signal comes in: a connection, or a request.
    enum Transport: UInt8 { case connection = 1, request = 2 }

    /// A set of transports, without the storage that `Set` allocates.
    struct Transports: ExpressibleByArrayLiteral {
        private var bits: UInt8 = 0

        init(arrayLiteral transports: Transport...) { for transport in transports { insert(transport) } }

        var isEmpty: Bool { bits == 0 }

        func contains(_ transport: Transport) -> Bool { bits & transport.rawValue != 0 }

        mutating func insert(_ transport: Transport) { bits |= transport.rawValue }
    }
}

/// The result of an accepted signal.
struct Receipt {
    let call: Call
    /// The number of the signal's log entry; 0 = the signal needed no entry.
    let seq: UInt64
    /// Whether the server made the callId.
    var madeCallID = false
    /// The signal's first arrival, if the signal was sent again and a list of accepted signals has it; otherwise `nil`.
    ///
    /// By now a later call may use the callId.
    var earlier: FirstArrival?
    /// The epoch of the log that contains the entry.
    var epoch: UInt32 { earlier?.epoch ?? call.epoch }

    /// The result of the first arrival of a signal that was sent again.
    struct FirstArrival {
        let epoch: UInt32
        /// The reason why the call was over for the device, if the signal was an end.
        let reason: EndReason?
    }

    /// The end of the call, if the ack must report it; otherwise `nil`.
    ///
    /// The ack reports that the call of an offer lost a glare or found the callee busy.
    var outcome: StateChange? {
        if let earlier { return earlier.reason == .busy ? StateChange(.ended, reason: .busy) : nil }
        guard !call.isLive, case .ended(let ending, _) = call.session.phase,
            ending.reason == .glare || ending.reason == .busy
        else {
            return nil
        }
        return StateChange(.ended, reason: ending.reason, replacedBy: ending.replacedBy)
    }
}
