import CallCore
import CallPorts
import Cluster
import Switchboard

/// The revocations of a world: operators of all nodes revoke the tokens of users, and every node must refuse them (I21).
///
/// The users have no devices, so that a revocation ends no call.
struct NodeRevocations {
    /// A revocation that a node's operator has asked for.
    struct Asked {
        let user: UserID
        let node: Int
        let life: Int
    }

    var asked: [Asked] = []
    /// The users whose revocation was reported to the operator as durable.
    var done: Set<UserID> = []
    /// Who has asked for the operator's commands that are not durable yet.
    var commands: [OperatorCommandID: NodeMachine.PendingRevocation] = [:]
    var lastCommand: UInt64 = 0
}

extension SimulatedWorld {
    /// Lets the operator of a node revoke the tokens of a user.
    func revokeTokens(at node: SimulatedNode) {
        guard node.isRunning, !node.isEnding, !node.isStopped, let user = UserID("r\(revocations.asked.count)") else {
            return
        }
        let id = RevocationID(rawValue: UInt64(revocations.asked.count))
        revocations.asked.append(.init(user: user, node: node.number, life: node.life))
        if node.isServing {
            // The same as `Gateway.carryOut` does for an operator of the owner.
            let moment = moment(of: node)
            let wall = moment + node.machine.clockLead
            decideRevocation(.init(user: user, moment: wall, asker: .operatorHere(id)), before: moment, at: node)
        } else {
            pass(.revocationAsked(user, upTo: moment(of: node), id), to: node)
        }
        endTurn(of: node)
    }

    func decideRevocation(_ revocation: NodeMachine.PendingRevocation, before moment: Moment, at node: SimulatedNode) {
        revocations.lastCommand += 1
        let id = OperatorCommandID(rawValue: revocations.lastCommand)
        revocations.commands[id] = revocation
        decide(.operatorCommand(id, .revoke(revocation.user, before: moment)), at: node)
    }

    /// Carries out an output of a switchboard that concerns revocations.
    func performRevocation(_ output: Switchboard.Output, at node: SimulatedNode) {
        switch output {
        case .revoked(let user, let moment):
            node.revokedUsers[user] = moment
            pass(.revoked(user, upTo: moment), to: node)
        case .done(let id):
            if let revocation = revocations.commands.removeValue(forKey: id) {
                pass(.revocationDurable(revocation), to: node)
            }
        default: break
        }
    }

    /// Tells a node that was just linked what is revoked.
    func sendRevocations(over link: LinkID, of node: SimulatedNode) {
        for (user, moment) in node.revokedUsers.sorted(by: { $0.key.text < $1.key.text }) {
            send(.command(.revoke(user, upTo: moment + node.machine.clockLead)), over: link, of: node)
        }
    }

    func revocationDone(_ id: RevocationID) {
        let place = Int(id.rawValue)
        if revocations.asked.indices.contains(place) { revocations.done.insert(revocations.asked[place].user) }
    }

    /// Checks at the end of a world that every node that serves clients refuses the tokens that were revoked, and that
    /// each revocation was reported to its operator.
    func checkRevocations() {
        for node in simulatedNodes where node.isRunning && !node.isStopped && node.machine.notReadyReason == nil {
            for user in revocations.done.sorted(by: { $0.text < $1.text }) where node.revokedUsers[user] == nil {
                fail("I21", "\(node.name) does not know that the tokens of \(user.text) are revoked")
            }
        }
        for one in revocations.asked where simulatedNodes[one.node].life == one.life {
            guard !revocations.done.contains(one.user), simulatedNodes[one.node].machine.notReadyReason == nil else {
                continue
            }
            fail("I21", "the operator of node \(one.node) was not told that the tokens of \(one.user.text) are revoked")
        }
    }
}
