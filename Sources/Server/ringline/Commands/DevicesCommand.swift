import ArgumentParser
import CallCore
import CallPorts
import CallTrace
import Threads

/// Lists a user's registered devices, and the results of their last pushes.
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices",
        abstract: "List a user's registered devices and the results of their last pushes.",
        usage: "ringline devices --user <user> [<options>]",
        discussion: """
            Reads the data folder or the database, as of the last commit, whether its server runs or not. It shows only \
            the beginning of each token. Exits with 1 if the user has no device.

            Example: ringline devices --user 10 --data /var/lib/ringline
            """
    )

    @Option(help: "The user whose devices to list.") var user: String
    @OptionGroup var records: RecordsOptions

    func run() throws {
        do throws(UsageError) {
            let user = try UserID(userOption: user)
            let place = try records.place()
            let devices = try Self.devices(of: user, in: place)
            place.leave(CommandTrace("devices", user))
            print(Self.text(devices, at: Moment(milliseconds: SystemClock.wall())), terminator: "")
        } catch {
            throw error.shown()
        }
    }

    /// Returns the user's stored devices; throws if the user has none.
    static func devices(of user: UserID, in place: RecordsPlace) throws(UsageError) -> [DeviceRecord] {
        let reader = try place.open().reader
        let devices: [DeviceRecord]
        do throws(StoreFailure) {
            devices = try reader.devices(of: user)
            UsageError.show(reader.takeDamages())
        } catch {
            throw UsageError(error.message)
        }
        guard !devices.isEmpty else {
            throw UsageError(
                "\(user.text) has no registered device in \(place.shown): the app must PUT /api/me/devices"
            )
        }
        return devices
    }

    /// Returns the table and, below it, a line for each device whose last push needs an explanation.
    static func text(_ devices: [DeviceRecord], at now: Moment) -> String {
        let rows = devices.map { device in
            [
                device.name, device.bundleID.isEmpty ? "-" : device.bundleID, tokens(of: device),
                (device.workingEnvironment ?? device.environment)?.rawValue ?? "unknown",
                CallsCommand.span(from: device.seenAt, to: now) + " ago", push(of: device, at: now),
            ]
        }
        var text = TextTable(["DEVICE", "APP", "TOKENS", "APNS", "SEEN", "LAST PUSH"], rows).text
        for device in devices {
            if let hint = device.lastPush?.hint { text += "\(device.name): \(hint)".printable + "\n" }
            if device.unansweredPushes > 0 {
                text +=
                    "\(device.name): \(device.unansweredPushes) pushes in a row without a sign of life from the device\n"
            }
        }
        return text
    }

    /// Returns the beginning of each push token: enough to tell tokens apart, and too little to use one.
    private static func tokens(of device: DeviceRecord) -> String {
        let shown = device.routes.entries.compactMap { route -> String? in
            let name = route.kind == .firebase ? "fcm" : route.kind.rawValue
            guard let web = route.value.subscription else { return "\(name) \(route.value.token.prefix(6))…" }
            // The endpoint is a secret; its host names the browser's push service.
            return WebPushEndpoint(web.endpoint).map { "\(name) \($0.host)" }
        }
        return shown.isEmpty ? "none" : shown.joined(separator: ", ")
    }

    private static func push(of device: DeviceRecord, at now: Moment) -> String {
        guard let push = device.lastPush else { return "never" }
        let said = push.status == 0 ? push.reason ?? "no response" : "\(push.status) \(push.reason ?? "")"
        // The record does not say which service it was, if it was not APNs.
        let others = device.routes.entries.map(\.kind).filter { !$0.isThroughAPNs }.map(\.service.name)
        let service = push.environment?.rawValue ?? (others.isEmpty ? "not APNs" : others.joined(separator: " or "))
        return "\(said.trimmingBlanks) (\(service)), \(CallsCommand.span(from: push.at, to: now)) ago"
    }
}

extension String {
    /// The text without the blanks at its end.
    fileprivate var trimmingBlanks: Substring {
        lastIndex { $0 != " " }.map { self[...$0] } ?? self[startIndex..<startIndex]
    }
}
