import CallClient
import CallCore
import JSON
import SeededRandom

/// The inputs of the client cores of a run and of the machines of their connections, as lines of JSON in the language of
/// the bridge (`ClientBridge`).
///
/// Whoever ports the client core to another language tests the port with such a trace: it makes each core, hands in the
/// inputs, and compares the outputs. The first line of a core makes it, `{"new":{…}}`, and so does `{"reconnection":{}}`
/// for the machine of a connection. Every other line hands in an input, `{"now":1700000000000,"input":{…}}`.
package final class CoreTrace {
    /// The lines of each core and of each machine of a connection, without newlines, in the order in which they were made.
    package private(set) var cores: [[[UInt8]]] = []

    /// Begins the trace of a new core.
    func app(_ configuration: CallClient.Configuration) -> App {
        let app = App(number: cores.count, trace: self)
        cores += [[], []]
        app.connectionLine("reconnection") { _ in }
        app.line("new") { json in
            json.member("user", configuration.user.text)
            json.member("device", configuration.device.text)
            json.member("signalIDPrefix", configuration.signalIDPrefix)
            json.name("ringTimeout")
            json.value(configuration.ringTimeout.milliseconds)
            json.name("maximumCalls")
            json.value(configuration.maximumCallGroups)
            if configuration.awaitsReports { json.member("awaitsReports", true) }
        }
        return app
    }

    /// The trace of one core and of its connection.
    struct App {
        fileprivate let number: Int
        fileprivate let trace: CoreTrace

        fileprivate func line(_ name: String, at now: Moment? = nil, _ members: (inout JSONWriter) -> Void) {
            append(name, to: number, at: now, members)
        }

        fileprivate func connectionLine(
            _ name: String,
            at now: Moment? = nil,
            _ members: (inout JSONWriter) -> Void
        ) {
            append(name, to: number + 1, at: now, members)
        }

        private func append(
            _ name: String,
            to number: Int,
            at now: Moment?,
            _ members: (inout JSONWriter) -> Void
        ) {
            var json = JSONWriter()
            json.beginObject()
            if let now {
                json.name("now")
                json.value(now.milliseconds)
            }
            json.name(name)
            json.beginObject()
            members(&json)
            json.endObject()
            json.endObject()
            trace.cores[number].append(json.bytes)
        }

        /// Writes an input of the connection's machine; `chance` is in millionths.
        func write(_ input: Reconnection.Input, chance: Int, at now: Moment) {
            connectionLine("input", at: now) { json in
                switch input {
                case .wanted(let isUrgent):
                    json.member("in", "wanted")
                    json.member("urgent", isUrgent)
                case .unwanted: json.member("in", "unwanted")
                case .pathChanged: json.member("in", "pathChanged")
                case .opened(let number):
                    json.member("in", "opened")
                    json.member("number", number.rawValue)
                case .closed(let number, let pause):
                    json.member("in", "closed")
                    json.member("number", number.rawValue)
                    if let pause { json.member("reason", "reconnectAfterMs=\(pause.milliseconds)") }
                case .draining(let pause):
                    json.member("in", "draining")
                    json.member("reconnectAfterMs", pause.milliseconds)
                case .deadlineReached: json.member("in", "deadlineReached")
                }
                json.member("chance", chance)
            }
        }

        /// Writes an input of the core.
        ///
        /// `status` and `bytes`: What the input was read from, if it came from the server.
        func write(_ input: CallClient.Input, _ status: Int, _ bytes: ArraySlice<UInt8>, at now: Moment) {
            line("input", at: now) { json in
                switch input {
                case .received:
                    json.member("in", "received")
                    json.member("frame", String(decoding: bytes, as: UTF8.self))
                case .fetched(let number, _):
                    json.member("in", "fetched")
                    json.name("number")
                    json.value(number.rawValue)
                    json.response(status, bytes)
                case .posted(let id, _):
                    json.member("in", "posted")
                    json.member("id", id.text)
                    json.response(status, bytes)
                case .pushed:
                    json.member("in", "pushed")
                    json.name("payload")
                    // A payload that is no object has no members for the core.
                    if MessageReader.object(Array(bytes)) != nil { json.raw(bytes) } else { json.emptyObject() }
                case .connectionOpened, .connectionClosed, .tokenRenewed, .tokenExpired, .deadlineReached,
                    .audioActivated, .audioDeactivated, .providerReset:
                    json.member("in", "\(input)")
                default: json.action(input)
                }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, _ text: String) {
        self.name(name)
        value(text)
    }

    fileprivate mutating func member(_ name: String, _ number: some FixedWidthInteger) {
        self.name(name)
        value(number)
    }

    fileprivate mutating func member(_ name: String, _ flag: Bool?) {
        guard let flag else { return }
        self.name(name)
        value(flag)
    }

    fileprivate mutating func response(_ status: Int, _ body: ArraySlice<UInt8>) {
        name("status")
        value(status)
        member("body", String(decoding: body, as: UTF8.self))
    }

    fileprivate mutating func emptyObject() {
        beginObject()
        endObject()
    }

    private mutating func begin(_ name: String, _ uuid: CallUUID) {
        member("in", name)
        member("uuid", uuid.text)
    }

    /// Writes an input of the user or the media engine.
    fileprivate mutating func action(_ input: CallClient.Input) {
        switch input {
        case .startCall(let call):
            begin("startCall", call.uuid)
            member("callId", call.callID.text)
            member("to", call.to.text)
            member("hasVideo", call.hasVideo)
        case .reportFailed(let uuid, let why):
            begin("reportFailed", uuid)
            member("why", why.rawValue)
        case .reportSucceeded(let uuid): begin("reportSucceeded", uuid)
        case .answer(let uuid): begin("answer", uuid)
        case .answerTimedOut(let uuid): begin("answerTimedOut", uuid)
        case .end(let uuid, let reason):
            begin("end", uuid)
            if let reason { member("reason", reason.rawValue) }
        case .setHeld(let uuid, let isHeld):
            begin("setHeld", uuid)
            member("held", isHeld)
        case .setMuted(let uuid, let audio, let video):
            begin("setMuted", uuid)
            member("audio", audio)
            member("video", video)
        case .playDTMF(let uuid, let digits):
            begin("playDTMF", uuid)
            member("digits", digits)
        case .sendInfo(let uuid, let data):
            begin("sendInfo", uuid)
            member("data", data)
        case .confirm(let uuid): begin("confirm", uuid)
        case .renegotiate(let uuid, let hasVideo, let restartsICE):
            begin("renegotiate", uuid)
            member("hasVideo", hasVideo)
            member("restartsICE", restartsICE)
        case .localDescription(let uuid, let round, let kind, let sdp):
            begin("localDescription", uuid)
            name("round")
            value(round)
            member("kind", kind.rawValue)
            member("sdp", sdp)
        case .localCandidate(let uuid, let round, let candidate):
            begin("localCandidate", uuid)
            name("round")
            value(round)
            name("candidate")
            if let candidate { value(candidate) } else { null() }
        case .mediaConnected(let uuid): begin("mediaConnected", uuid)
        case .mediaFailed(let uuid): begin("mediaFailed", uuid)
        case .negotiationFailed(let uuid, let round):
            begin("negotiationFailed", uuid)
            name("round")
            value(round)
        case .received, .fetched, .posted, .pushed, .connectionOpened, .connectionClosed, .tokenRenewed, .tokenExpired,
            .deadlineReached, .audioActivated, .audioDeactivated, .providerReset:
            break
        }
    }
}

extension Simulation {
    /// Runs the worlds of a seed until the given number of calls has begun, and hands in the trace of each world's
    /// client cores.
    package static func trace(seed: UInt64, calls: Int, _ receive: (CoreTrace) -> Void) {
        var generator = SeededGenerator(seed: seed)
        var count = 0
        while count < calls {
            let one = generator.next() >> 16
            let world = World(
                Scenario(seed: one, calls: callsPerWorld, faults: faults(for: one), isRecording: false)
            )
            let trace = CoreTrace()
            world.apps.coreTrace = trace
            world.live()
            receive(trace)
            count += max(1, world.statistics.calls)
        }
    }
}
