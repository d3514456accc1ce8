import CallClient
import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

/// Real client cores and the real switchboard, connected by a network without faults.
final class ClientRig {
    final class Device {
        var client: CallClient
        let user: String
        let name: String
        var connection: SocketID?
        var outputs: [CallClient.Output] = []

        init(_ user: String, _ name: String, prefix: String) throws {
            self.user = user
            self.name = name
            client = CallClient(
                .init(
                    user: try SwitchboardTests.user(user),
                    device: try SwitchboardTests.device(name),
                    signalIDPrefix: prefix
                )
            )
        }
        var phase: CallClient.Phase.Name? { client.calls.last?.phase.name }
        var live: [CallClient.Call] { client.calls.filter(\.isLive) }
    }

    var world = SwitchboardWorld()
    var isUp = true
    var devices: [Device] = []
    var now: Moment { world.now }

    func add(_ device: Device) -> Device {
        devices.append(device)
        return device
    }

    func feed(_ device: Device, _ input: CallClient.Input) throws {
        for output in device.client.handle(input, at: now) { try perform(output, device) }
    }

    private func perform(_ output: CallClient.Output, _ device: Device) throws {
        device.outputs.append(output)
        switch output {
        case .send(let signal):
            if let connection = device.connection {
                world.send(connection, String(decoding: signal.frame, as: UTF8.self))
            }
        case .post(let signal, _): try feed(device, .posted(signal.id, .failure(.unreachable)))
        case .fetch(let number, let id, let peer, let since, _):
            guard isUp else {
                try feed(device, .fetched(number, .failure(.unreachable)))
                return
            }
            let fetch = Switchboard.Fetch(
                peer: peer,
                since: since.map { .init(epoch: $0.epoch, seq: $0.seq) },
                device: try SwitchboardTests.device(device.name)
            )
            let reply = try world.reply(try principal(device.user), .fetch(id, fetch))
            try feed(device, .fetched(number, FetchedCall.reply(status: reply.status, body: reply.body)))
        case .makeOffer(let uuid, let round, _, _):
            try feed(device, .localDescription(uuid, round: round, .offer, sdp: sdp(device, "offer")))
        case .makeAnswer(let uuid, let round):
            try feed(device, .localDescription(uuid, round: round, .answer, sdp: sdp(device, "answer")))
        default: break
        }
    }

    private var descriptions = 0
    private func sdp(_ device: Device, _ kind: String) -> String {
        descriptions += 1
        return "v=0\r\ns=\(device.name)-\(kind)-\(descriptions)\r\n"
    }

    func deliver() throws {
        var isMoving = true
        while isMoving {
            isMoving = false
            for device in devices {
                guard let connection = device.connection else { continue }
                for frame in world.takeFrames(of: connection) {
                    isMoving = true
                    try feed(device, .received(ServerMessage(Array(frame.description.utf8))))
                }
                if isMoving { world.pong(connection) }
            }
        }
    }

    func advance(_ seconds: Double) throws {
        for _ in 0..<Int(seconds * 10) {
            world.wait(.milliseconds(100))
            for device in devices {
                if let deadline = device.client.deadline, deadline <= now { try feed(device, .deadlineReached) }
                if let connection = device.connection { world.pong(connection) }
            }
            try deliver()
        }
    }

    func open(_ device: Device) throws {
        device.connection = try world.open(device.user, device.name)
        try feed(device, .connectionOpened)
        try deliver()
    }

    func close(_ device: Device) throws {
        if let connection = device.connection { world.give(.closed(connection)) }
        device.connection = nil
        try feed(device, .connectionClosed)
    }

    func crash(to state: StoredState, after seconds: Int64 = 2) throws {
        isUp = false
        for device in devices where device.connection != nil {
            device.connection = nil
            try feed(device, .connectionClosed)
        }
        world = SwitchboardWorld(stored: state, after: world.kept, at: now + .seconds(seconds))
        isUp = true
    }

    /// Stops the server, and starts it again from its store after a number of seconds.
    ///
    /// `during` is called five seconds after the stop.
    func outage(_ seconds: Double, during: () throws -> Void) throws {
        let state = world.kept.state(uncleanStarts: 0)
        isUp = false
        for device in devices {
            device.connection = nil
            try feed(device, .connectionClosed)
        }
        // Only the devices' clocks matter here: the decisions of the old switchboard are discarded.
        try advance(5)
        try during()
        try advance(seconds - 5)
        world = SwitchboardWorld(stored: state, after: world.kept, at: now)
        isUp = true
    }

    @discardableResult
    func call(_ device: Device, to peer: String, _ id: String = "11-10", uuid: Int) throws -> CallUUID {
        let uuid = try #require(CallUUID("AAAAAAAA-0000-4000-8000-00000000000\(uuid)"))
        let wish = CallClient.StartCall(
            uuid: uuid,
            callID: try SwitchboardTests.call(id),
            to: try SwitchboardTests.user(peer),
            hasVideo: false
        )
        try feed(device, .startCall(wish))
        try deliver()
        return uuid
    }
}
