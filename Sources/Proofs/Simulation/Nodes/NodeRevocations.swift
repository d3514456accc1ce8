import CallCore
import CallPorts
import Nodes
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
