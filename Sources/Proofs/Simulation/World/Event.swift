import CallCore
import CallPorts
import Nodes
import Switchboard

/// An event in a world.
enum Event {
    // Arrivals at the server, and its timers.
    case serverTimer(run: Int)
    case flush(run: Int)
    case socketEstablished(link: Int)
    case up(link: Int, [UInt8])
    case pongUp(link: Int, number: UInt64)
    case closeUp(link: Int)
    case request(Int)
    case committed(run: Int)
    indirect case storeReport(run: Int, StoreReport)
    indirect case pushArrives(run: Int, OutgoingPush)
    indirect case pushResult(run: Int, PushID, PushResult)
    indirect case deliveryArrives(EventRequest, run: Int, node: Int = 0, life: Int = 0)
    indirect case deliveryResult(run: Int, DeliveryID, DeliveryResult)
    indirect case feedRead(RequestID, Switchboard.FeedRead)
    case resends(EventDeliveries.Resend)
    indirect case question(DecisionRequest, run: Int, node: Int = 0, life: Int = 0)
    indirect case decision(run: Int, DecisionID, DecisionAnswer)
    indirect case crowd(CrowdRequest)
    case crowdLooks(RequestID)
    case restart
    indirect case node(Int, life: Int, NodeEvent)
    indirect case database(DatabaseRequest, Int, life: Int)
    case nodeLink(NodeLink, end: Int)
    case nodeFault(NodeFault)
    indirect case checkOffer(device: Int, CallKey, epoch: UInt32, CallNumber)
    case checkService

    // What reaches a device, or what its app and its user have planned.
    case down(link: Int, ParsedFrame)
    case pingDown(link: Int, number: UInt64)
    case closeDown(link: Int, code: UInt16)
    case response(Int, status: Int, body: [UInt8])
    case timeout(Int)
    case tokenExpires(device: Int)
    indirect case pushDelivered(device: Int, payload: [UInt8])
    case coreDeadline(device: Int)
    case connect(device: Int)
    /// Something happens to this run of an app.
    indirect case app(device: Int, instance: Int, AppEvent)
    indirect case step(Step)
    case schedule(ScheduleEvent)

    // The app's backend.
    indirect case backend(BackendEvent)

    // The world itself.
    case chaos(Faults)
    case audit
    indirect case checkDelivery(CallKey, epoch: UInt32, number: CallNumber)
    indirect case checkRing(device: Int, instance: Int, CallName, ring: Int)
    case settle
    case hangUpAll
    case finish
}

extension Event {
    /// Whether the event is one of the devices and their users, or an audit of them.
    ///
    /// These are left out while only the app's backend is waited for.
    var isOfDevices: Bool {
        switch self {
        case .down, .pingDown, .closeDown, .response, .timeout, .tokenExpires, .pushDelivered, .coreDeadline, .connect,
            .app, .step, .chaos, .audit, .checkDelivery, .checkRing, .settle, .hangUpAll, .checkService, .checkOffer:
            true
        default: false
        }
    }
}

/// Something that happens to one run of an app.
enum AppEvent {
    case tokenRenewed
    /// An unnamed device gets another token during a call, and asks for the call with it.
    case tokenChanges(CallName)
    case attemptFails(UInt64)
    case pathChanges
    case tokenArrives
    case login
    case poll(CallName, since: UInt64, number: Int)
    case intent(Intent)
}

/// A planned action of a user.
enum Step {
    case call(device: Int, peer: UserID, CallID, ring: Int64?)
    case hostile(Int)
    case burst(device: Int, CallID)
    case block(device: Int, UserID, isBlocked: Bool)
    case disturb(device: Int, for: Int64?)
    case token(device: Int)
    case logout(device: Int)
    case launch(device: Int)
    case outsiderCall
    case oldEnd
}
