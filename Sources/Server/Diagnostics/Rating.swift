import CallCore
import CallWire
import Glibc

/// Rates figures of this machine as the host of a server.
package enum Rating {
    /// Rates the process's hard limit of file descriptors for a number of connections.
    package static func descriptors(wanted: Int?) -> Finding {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return descriptors(hard: Int(clamping: limit.rlim_max), wanted: wanted)
    }

    /// Rates a hard limit for a number of connections; `nil` = the server has no `--max-tcp-connections`.
    ///
    /// The server raises its soft limit by itself.
    package static func descriptors(hard: Int, wanted: Int?) -> Finding {
        let subject = "file descriptors"
        let fix = "raise the limit: LimitNOFILE= in a systemd unit, --ulimit nofile= of a container, ulimit -Hn"
        // Files, other libraries and the event loops need some descriptors, too.
        let connections = max(0, min(hard, 1 << 20) - 128)
        if let wanted, wanted > connections {
            let text =
                "the hard limit of \(hard) is enough for \(connections) connections, but --max-tcp-connections is \(wanted)"
            return .error(subject, text, fix: fix)
        }
        if wanted == nil, connections < 10_000 {
            return .warning(
                subject,
                "the hard limit of \(hard) is enough for only \(connections) connections",
                fix: fix
            )
        }
        return .ok(subject, "enough for \(wanted ?? connections) connections (hard limit \(hard))")
    }

    /// Rates a certificate's validity; all times are in seconds since 1970.
    package static func certificate(from: Int64, until: Int64, at now: Int64) -> Finding {
        let subject = "TLS certificate"
        if now < from {
            return .error(subject, "it is not valid before \(date(from))", fix: "check this machine's clock")
        }
        if now >= until {
            return .error(subject, "it expired on \(date(until))", fix: "renew it; a running server loads it on SIGHUP")
        }
        if until - now < 14 * 86_400 {
            return .warning(
                subject,
                "it expires on \(date(until))",
                fix: "renew it; a running server loads it on SIGHUP"
            )
        }
        return .ok(subject, "matches its key and is valid until \(date(until))")
    }

    /// Rates the validity of a certificate behind the server's own; all times are in seconds since 1970.
    ///
    /// `number` is its place in the file, from 1. Returns `nil` if it is valid for long enough.
    package static func issuer(_ number: Int, from: Int64, until: Int64, at now: Int64) -> Finding? {
        let (subject, which) = ("TLS certificate", "certificate \(number) of the file")
        let fix = "give the chain that comes with the renewed certificate, such as certbot's fullchain.pem"
        if now < from {
            return .error(subject, "\(which) is not valid before \(date(from))", fix: "check this machine's clock")
        }
        if now >= until {
            let text = "\(which) expired on \(date(until)): devices refuse the connection"
            return .error(subject, text, fix: fix)
        }
        guard until - now < 14 * 86_400 else { return nil }
        return .warning(subject, "\(which) expires on \(date(until))", fix: fix)
    }

    /// Rates a kind of file system for a data folder.
    ///
    /// With `holdsDatabase` it is for a database that relies on working locks and a working `fsync`.
    package static func fileSystem(_ kind: String?, _ path: String, holdsDatabase: Bool = true) -> Finding {
        let subject = "data folder"
        guard let kind else {
            let fix = "check with findmnt that it is on a local disk"
            return .warning(subject, "\(path): its file system is unknown", fix: fix)
        }
        let network = [
            "nfs", "cifs", "smb", "fuse", "9p", "ceph", "afs", "glusterfs", "lustre", "gfs", "ocfs", "vboxsf",
        ]
        if holdsDatabase, network.contains(where: { kind.hasPrefix($0) }) {
            return .error(
                subject,
                "\(path) is on \(kind), where SQLite's locks and write-ahead log are unreliable",
                fix: "use a local disk with ext4, xfs or a similar file system"
            )
        }
        switch kind {
        case "tmpfs", "ramfs":
            return .warning(subject, "\(path) is on \(kind): a reboot deletes it", fix: "use a disk")
        case "overlay":
            return .warning(
                subject,
                "\(path) is in the container's own layer, which is deleted with the container",
                fix: "mount a volume there"
            )
        default: return .ok(subject, "\(path) can be written and is on \(kind)")
        }
    }

    /// Formats the day of a time in seconds since 1970: `2026-11-21`.
    private static func date(_ seconds: Int64) -> String {
        String(Timestamp.text(Moment(milliseconds: seconds * 1_000)).prefix(10))
    }
}
