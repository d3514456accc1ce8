package import CallCore
package import CallPorts

extension Tables {
    /// The registered devices.
    package static let devices = RecordTable<DeviceRecord>(
        "device",
        key: 2,
        [
            .word("user", { $0.user.text }),
            .word("id", { $0.id.text }),
            .flag("is_named", { $0.isNamed }, { $0.isNamed = $1 }),
            .free("platform", { $0.platform }, { $0.platform = $1 ?? "" }),
            .free("bundle_id", { $0.bundleID }, { $0.bundleID = $1 ?? "" }),
            .token(.voip),
            .registered("voip_token_at", .voip),
            .token(.alert),
            .registered("alert_token_at", .alert),
            .token(.firebase),
            .word("environment", of: APNsEnvironment.self, { $0.environment }, { $0.environment = $1 }),
            .word(
                "working_environment",
                of: APNsEnvironment.self,
                { $0.workingEnvironment },
                { $0.workingEnvironment = $1 }
            ),
            .integer("created_at", { $0.createdAt.milliseconds }, { $0.createdAt = $1.moment($2) }),
            .integer("seen_at", { $0.seenAt.milliseconds }, { $0.seenAt = $1.moment($2) }),
            .integer("unanswered_pushes", { Int64($0.unansweredPushes) }, { $0.unansweredPushes = $1.count($2) }),
            .moment(
                "push_at",
                { $0.lastPush?.at },
                { $0.lastPush = $1.map { .init(at: $0, status: 0, reason: nil, environment: nil, hint: nil) } }
            ),
            .integer(
                "push_status",
                { $0.lastPush.map { Int64($0.status) } },
                { $0.lastPush?.status = $1.count($2, in: 0...999) }
            ),
            .free("push_reason", { $0.lastPush?.reason }, { $0.lastPush?.reason = $1 }),
            .word(
                "push_environment",
                of: APNsEnvironment.self,
                { $0.lastPush?.environment },
                { $0.lastPush?.environment = $1 }
            ),
            .free("push_hint", { $0.lastPush?.hint }, { $0.lastPush?.hint = $1 }),
            .registered("fcm_token_at", .firebase),
            Column(name: "web_endpoint", kind: .free, value: { .free($0.routes[.web]?.token) }) { device, row, column in
                let texts = (column...column + 2).compactMap { row.row.optionalText($0) }
                guard texts.count == 3 else { return true }
                let subscription = WebPushSubscription(endpoint: texts[0], p256dh: texts[1], auth: texts[2])
                device.routes[.web] = RegisteredRoute(subscription, at: nil)
                return true
            },
            .free("web_p256dh", { $0.routes[.web]?.subscription?.p256dh }),
            .free("web_auth", { $0.routes[.web]?.subscription?.auth }),
            .registered("web_push_at", .web),
            .free("sound", { $0.sound }, { $0.sound = $1 }),
            .free("payload_keys", { $0.payloadKeys }, { $0.payloadKeys = $1 }),
            .word("installation", { $0.installation }, { $0.installation = $1 }),
        ]
    ) { row in
        guard let user = row.value(0, UserID.init), let id = row.value(1, DeviceID.init) else { return nil }
        let created = Moment(milliseconds: 0)
        return DeviceRecord(user: user, id: id, isNamed: false, platform: "", bundleID: "", createdAt: created)
    }

    /// The column of the token of a kind of push; a device has one of each kind at most.
    package static func tokenColumn(of kind: PushKind) -> String {
        switch kind {
        case .voip: "voip_token"
        case .alert: "alert_token"
        case .firebase: "fcm_token"
        case .web: "web_endpoint"
        }
    }

    private typealias Column = RecordTable<DeviceRecord>.Column
}

extension RecordTable<DeviceRecord>.Column {
    /// The token of a kind of push whose token is a text of the service.
    fileprivate static func token(_ kind: PushKind) -> Self {
        .free(
            Tables.tokenColumn(of: kind),
            { $0.routes[kind]?.token },
            { $0.routes[kind] = $1.map { RegisteredRoute($0, at: nil) } }
        )
    }

    /// When the token of a kind of push was last registered; its column follows the token's.
    fileprivate static func registered(_ name: String, _ kind: PushKind) -> Self {
        .moment(name, { $0.routes[kind]?.at }, { $0.routes[kind]?.at = $1 })
    }
}
