import CallCore
import CallWire
import Glibc

/// Rates figures of this machine for a server that is to run on it.
package enum Rating {
    /// Rates the process's hard limit of file descriptors for a number of connections.
    package static func descriptors(wanted: Int?) -> Finding {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return descriptors(hard: Int(clamping: limit.rlim_max), wanted: wanted)
    }

    /// Rates a hard limit for a number of connections.
    ///
    /// The server raises its soft limit by itself.
    package static func descriptors(hard: Int, wanted: Int?) -> Finding {
        let subject = "file descriptors"
        let fix = "raise it: LimitNOFILE= in a systemd unit, --ulimit nofile= of a container, ulimit -Hn"
        // Files, other libraries and the event loops need some descriptors, too.
        let sessions = max(0, min(hard, 1 << 20) - 128)
        if let wanted, wanted > sessions {
            let text = "the hard limit of \(hard) is enough for \(sessions) sessions, wanted are \(wanted)"
            return .error(subject, text, fix: fix)
        }
        if wanted == nil, sessions < 10_000 {
            return .warning(subject, "the hard limit of \(hard) is enough for \(sessions) sessions only", fix: fix)
        }
        return .ok(subject, "enough for \(wanted ?? sessions) sessions (hard limit \(hard))")
    }

    /// Rates a certificate's validity; all times are in seconds since 1970.
    package static func certificate(from: Int64, until: Int64, at now: Int64) -> Finding {
        let subject = "TLS certificate"
        if now < from {
            return .error(subject, "it is good from \(date(from)) on", fix: "set this machine's clock right")
        }
        if now >= until {
            return .error(subject, "it expired \(date(until))", fix: "renew it; a running server takes it on SIGHUP")
        }
        if until - now < 14 * 86_400 {
            return .warning(subject, "it expires \(date(until))", fix: "renew it; a running server takes it on SIGHUP")
        }
        return .ok(subject, "belongs to its key and is good until \(date(until))")
    }

    /// Rates a kind of file system for a database that relies on working locks and a working `fsync`.
    package static func fileSystem(_ kind: String?, _ path: String) -> Finding {
        let subject = "data folder"
        guard let kind else {
            let fix = "look at it with findmnt: a disk of this machine is wanted"
            return .warning(subject, "\(path): on what file system it lies cannot be told", fix: fix)
        }
        let network = [
            "nfs", "cifs", "smb", "fuse", "9p", "ceph", "afs", "glusterfs", "lustre", "gfs", "ocfs", "vboxsf",
        ]
        if network.contains(where: { kind.hasPrefix($0) }) {
            return .error(
                subject,
                "\(path) lies on \(kind), where SQLite's locks and write-ahead log do not hold",
                fix: "a disk of this machine: ext4, xfs or the like"
            )
        }
        switch kind {
        case "tmpfs", "ramfs":
            return .warning(subject, "\(path) lies on \(kind): a restart of the machine forgets it", fix: "a disk")
        case "overlay":
            return .warning(
                subject,
                "\(path) lies in the container's own layer, which goes with the container",
                fix: "mount a volume there"
            )
        default: return .ok(subject, "\(path) can be written and lies on \(kind)")
        }
    }

    /// Formats the day of a time in seconds since 1970: `2026-11-21`.
    private static func date(_ seconds: Int64) -> String {
        String(Timestamp.text(Moment(milliseconds: seconds * 1_000)).prefix(10))
    }
}
