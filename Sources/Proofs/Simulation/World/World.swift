import CallCore
import CallPorts
import CallWire
import Switchboard

/// A server, its store, push services, simulated devices and their users, in simulated time.
///
/// The world makes its parts, each above those that it needs, plans what will happen, and hands each event to the part
/// that it concerns.
final class World: Part {
    let network: Network
    let server: any ServerUnderTest
    /// The server, if the users have schedules, and no sockets.
    let schedules: ScheduleServer?
    /// The app's backend; `nil` = there is none.
    let backend: Backend?
    let users: Users
    let apps: Apps
    let audit: Audit

    init(_ scenario: Scenario) {
        let course = Course(scenario)
        network = Network(course)
        let requests = Requests(course, network)
        let pushes = PushServices(course, network)
        let turns = Turns(course)
        let backend = scenario.hasBackend ? Backend(course, network) : nil
        self.backend = backend
        schedules =
            scenario.hasSchedules
            ? ScheduleServer(turns, network, requests, pushes, for: ScheduleUsers(course)) : nil
        server =
            scenario.hasNodes
            ? NodesServer(turns, network, requests, pushes, backend)
            : schedules ?? OneServer(turns, network, requests, pushes, backend)
        users = Users(requests, network)
        apps = Apps(users, server)
        audit = Audit(apps)
        super.init(course)
    }

    /// Runs the world to its end, or to the first broken invariant.
    func live() {
        if schedules == nil { makeDevices() }
        server.start()
        if let schedules { schedules.plan() } else { plan() }
        backend?.begin()
        while let event = course.next() {
            handle(event)
            course.check()
        }
        statistics.worlds = 1
        statistics.milliseconds = now - Course.startTime
        statistics.calls = schedules?.users.schedules.callCount ?? checker.begun
        statistics.mix(UInt64(truncatingIfNeeded: now))
        statistics.mix(UInt64(statistics.steps))
        statistics.coverage = checker.coverage
        statistics.decisions = checker.decisions?.outcomes ?? [:]
        statistics.events = backend?.told.events.count ?? 0
    }

    private func handle(_ event: Event) {
        if backend?.waitsSince != nil, event.isOfDevices { return }
        switch event {
        case .down(let link, let frame): apps.deviceReceives(frame, on: link)
        case .pingDown(let link, let number): network.pinged(link, number)
        case .closeDown(let link, let code): apps.closesAtDevice(link, code: code)
        case .response(let index, let status, let body): apps.responseArrives(index, status: status, body)
        case .timeout(let index): apps.timesOut(index)
        case .tokenExpires(let device): apps.tokenExpires(network.devices[device])
        case .pushDelivered(let device, let payload): apps.pushDelivered(payload, to: network.devices[device])
        case .coreDeadline(let device): apps.wake(network.devices[device])
        case .connect(let device): apps.connect(network.devices[device])
        case .app(let device, let instance, let event):
            apps.happens(event, to: network.devices[device], instance: instance)
        case .step(let step): perform(step)
        case .schedule(let event): schedules?.happens(event)
        case .chaos(let fault): apply(fault)
        case .checkDelivery(let key, let epoch, let number): audit.checkDelivery(key, epoch, number)
        case .checkRing(let device, let instance, let name, let ring):
            audit.checkRing(network.devices[device], instance, name, ring)
        case .backend(let event): backend?.happens(event)
        case .audit:
            audit.audit()
            after(3_000, .audit)
        case .settle: endFaults()
        case .hangUpAll: audit.hangUpAll()
        case .finish: break
        default: server.handle(event)
        }
    }
}
