import Glibc

/// The systemd unit of a server: `Deploy/ringline.service`, with the files of one installation.
enum ServiceUnit {
    /// The unit without its first comment; a test compares it with `Deploy/ringline.service`.
    static let text = """
        [Unit]
        Description=Ringline call signaling
        Wants=network-online.target
        After=network-online.target
        # No limit on restarts: a disk that is full for a minute must not stop the service for good.
        StartLimitIntervalSec=0

        [Service]
        # The server says when it serves, and pings every second while all its event loops turn: a stalled server is restarted. A
        # start waits for the data folder or the database as long as that takes.
        Type=notify
        NotifyAccess=main
        TimeoutStartSec=infinity
        WatchdogSec=30
        ExecStart=/usr/bin/ringline serve --config /etc/ringline/ringline.conf
        # This is the shell's builtin kill, because a small Debian has no /bin/kill.
        ExecReload=/bin/sh -c 'kill -HUP $MAINPID'
        Environment=RINGLINE_DATA=%S/ringline
        Restart=on-failure
        RestartSec=2
        # The server closes its connections, writes everything and ends within 10 s; a stalled one ends itself within 15 s.
        TimeoutStopSec=20
        LimitNOFILE=131200
        LimitCORE=0
        MemoryMax=2G
        TasksMax=128

        # DynamicUser: the user exists only while the server runs; at the next start systemd reuses the UID that owns
        # /var/lib/ringline.
        DynamicUser=yes
        User=ringline
        StateDirectory=ringline
        StateDirectoryMode=0700
        # The folder for --audit-log /var/log/ringline/audit.jsonl.
        LogsDirectory=ringline
        LogsDirectoryMode=0700
        ConfigurationDirectory=ringline
        UMask=0077

        # The server has access to nothing else.
        CapabilityBoundingSet=
        AmbientCapabilities=
        NoNewPrivileges=yes
        ProtectSystem=strict
        ProtectHome=yes
        PrivateTmp=yes
        PrivateDevices=yes
        PrivateUsers=yes
        PrivateIPC=yes
        ProtectClock=yes
        ProtectControlGroups=yes
        ProtectHostname=yes
        ProtectKernelLogs=yes
        ProtectKernelModules=yes
        ProtectKernelTunables=yes
        ProtectProc=invisible
        ProcSubset=pid
        RemoveIPC=yes
        RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
        RestrictNamespaces=yes
        RestrictRealtime=yes
        RestrictSUIDSGID=yes
        LockPersonality=yes
        MemoryDenyWriteExecute=yes
        SystemCallArchitectures=native
        SystemCallFilter=@system-service
        SystemCallFilter=~@privileged @resources
        SystemCallFilter=setrlimit prlimit64
        SystemCallErrorNumber=EPERM

        [Install]
        WantedBy=multi-user.target

        """

    /// Returns the unit of a server that runs this binary with this configuration and this secret.
    ///
    /// The unit's user cannot read root's files, so the secret comes as a credential.
    static func text(binary: String, configuration: String, secret: String) -> String {
        let command = "ExecStart=/usr/bin/ringline serve --config /etc/ringline/ringline.conf\n"
        let own = """
            ExecStart=\(word(binary, isProgram: true)) serve --config \(word(configuration))
            LoadCredential=jwt-secret:\(escaped(secret, ["%": "%%"]))
            Environment=RINGLINE_JWT_SECRET_FILE=%d/jwt-secret

            """
        let head =
            "# Made by 'ringline init'. Other secrets, such as the key of APNs: add LoadCredential= lines as below.\n"
        guard let place = text.firstRange(of: command) else { return head + text }
        return head + text[..<place.lowerBound] + own + text[place.upperBound...]
    }

    /// Returns a path as a word of `ExecStart`, where blanks, quotes, `\`, `%` and `$` have meanings of their own.
    private static func word(_ path: String, isProgram: Bool = false) -> String {
        // systemd replaces variables in the arguments only.
        let dollar = isProgram ? "$" : "$$"
        let shown = escaped(path, ["\\": "\\\\", "\"": "\\\"", "%": "%%", "$": dollar])
        return shown == path && !path.contains(where: { " ';".contains($0) }) ? path : "\"\(shown)\""
    }

    private static func escaped(_ text: String, _ forms: [Character: String]) -> String {
        text.map { forms[$0] ?? String($0) }.joined()
    }

    /// Whether the unit cannot reach a file: it sees neither homes nor the machine's temporary files, and its user, which
    /// is another one, cannot enter each folder.
    static func hides(_ path: String) -> Bool {
        if ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"].contains(where: path.hasPrefix) { return true }
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/"), slash > folder.startIndex {
            folder = folder[..<slash]
            var status = stat()
            if stat(String(folder), &status) == 0, status.st_mode & 0o001 == 0 { return true }
        }
        return false
    }
}
