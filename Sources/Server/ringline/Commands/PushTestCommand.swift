import ArgumentParser
import CallCore
import CallPorts
import CallWire
import Identity
import SQLiteStore
import Switchboard
import Threads

/// Sends a user's devices the push that a call would send, and prints Apple's response.
struct PushTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-test",
        abstract: "Send a push to a user's devices and print the push service's answer in words.",
        discussion: """
            Takes the devices from the data folder or the database, whether its server runs or not, and the APNs key, the Firebase \
            service account and the VAPID key from the options of 'ringline serve', its variables or its file. The device shows a call from "Ringline \
            test" that does not exist: the app finds no such call at the server and ends it. A device without a VoIP token gets an \
            alert, which stays on its screen. Firebase only checks the message and its token, and does not deliver it. Changes \
            nothing that is stored.

            Exits with 0 if a push service took a push for at least one device.

            Examples:
              ringline push-test --user 10 --config /etc/ringline/ringline.conf
              docker exec ringline ringline push-test --user 10 --device iphone-a
            """
    )

    @Option(help: "The user whose devices to push.") var user: String
    @Option(help: "Push only this device.") var device: String?
    @OptionGroup(title: "Options of serve") var options: ServeOptions

    func run() throws {
        let isTaken: Bool
        do throws(UsageError) { isTaken = try push() } catch { throw error.shown() }
        if !isTaken { throw ExitCode(1) }
    }

    private func push() throws(UsageError) -> Bool {
        let user = try UserID(userOption: user)
        let settings = try ServeSettings(try options.source())
        guard PushSetup.all.contains(where: { $0.isConfigured(settings) }) else {
            let options = PushSetup.all.map(\.options)
            let list = options.dropLast().joined(separator: ", ") + ", or " + (options.last ?? "")
            throw UsageError("no push service is configured: give \(list)")
        }
        guard !settings.isInMemory else {
            throw UsageError("--data :memory: has no devices: name the server's data folder")
        }
        let devices = try DevicesCommand.devices(of: user, in: RecordsPlace(settings)).filter {
            device == nil || $0.id.text == device
        }
        CommandTrace("push-test", user).write(in: settings.data)
        guard !devices.isEmpty else { throw UsageError("\(user.text) has no device \(device ?? "")") }
        let sender = try TestPusher(ServerApplication(settings))
        defer { sender.shutdown() }
        // The server of these devices has made the key. If the key cannot be read, because this machine has not that
        // server's data folder for instance, the push has no capability.
        let folder = try? OperatorFolder(settings.data)
        let key = folder?.contents(of: ServerKeys.fileName, limit: SecretFile.maximumByteCount)
        var isTaken = false
        for device in devices {
            let test = PushTest(
                device: device,
                preferred: settings.policy.apnsEnvironment,
                capability: key.map { RingCapability(serverKey: ServerKeys(text: $0).newest.secret) },
                aliases: settings.policy.aliases(for: device)
            )
            let now = Moment(milliseconds: SystemClock.wall())
            if test.run(at: now, send: sender.send, say: { print($0) }) { isTaken = true }
        }
        return isTaken
    }
}
