import ArgumentParser
import CallWire
import Diagnostics
import Threads

/// Checks what a server needs, before the server starts or while it runs.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract:
            "Check keys, certificate, data folder, limits, push services and TURN; prints a line for each, with a fix if needed.",
        discussion: """
            Takes the options of 'ringline serve', reads the same variables and the same file. Starts nothing and changes \
            nothing. Asks APNs and Firebase (a push to a device that does not exist), takes an allocation on the TURN servers, and \
            connects to the other nodes of the database.

            Exits with 1 if there is an error; warnings alone are 0.

            Examples:
              ringline doctor --config /etc/ringline/ringline.conf
              docker exec ringline ringline doctor
              ringline doctor --bundle com.example.chat --apns-key-file AuthKey.p8 \\
                  --apns-key-id ABCDE12345 --apns-team-id TEAM123456
            """
    )

    @Option(
        parsing: .singleValue,
        help: "The bundle id of an app whose APNs topic to check, in addition to those registered; repeatable."
    )
    var bundle: [String] = []
    @Flag(help: "Do not ask APNs, the TURN servers or other nodes.") var offline = false
    @OptionGroup(title: "Options of serve") var options: ServeOptions

    func run() throws {
        var errors = 0
        if bundle.allSatisfy(DeviceRegistration.isBundleID) {
            do throws(UsageError) {
                errors = Self.examine(try ServeSettings(try options.source()), bundle, usesNetwork: !offline)
            } catch {
                let fix = "see 'ringline serve --help'; 'ringline config' shows where each setting comes from"
                print(Finding.error("settings", error.description, fix: fix).line)
                errors = 1
            }
        } else {
            let text = "--bundle must be 1 to 155 characters of A–Z a–z 0–9 . -"
            print(Finding.error("settings", text, fix: "see 'ringline doctor --help'").line)
            errors = 1
        }
        if errors > 0 { throw ExitCode(1) }
    }

    /// Prints the findings about settings, and returns the number of errors among them.
    static func examine(_ settings: ServeSettings, _ bundles: [String] = [], usesNetwork: Bool = true) -> Int {
        var errors = 0
        let doctor = Doctor(settings: settings, bundles: bundles, usesNetwork: usesNetwork, now: SystemClock.wall())
        doctor.examine { finding in
            print(finding.line)
            if finding.grade == .error { errors += 1 }
        }
        return errors
    }
}
