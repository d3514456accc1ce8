import CallPorts
import Switchboard

/// The owner and the decisions of the app's backend, which may come when another node owns the calls.
extension NodesServer {
    func ask(_ question: DecisionRequest, by run: Int, _ node: SimulatedNode) {
        guard let decider = backend?.decider else { return }
        after(decider.ordered(question), .question(question, run: run, node: node.number, life: node.life))
    }

    func questionArrives(_ question: DecisionRequest, _ run: Int, _ number: Int, _ life: Int) {
        backend?.decider?.arrived(question) { answer, delay in
            after(delay, .node(number, life: life, .decision(question.id, answer, run: run)))
        }
    }

    /// Passes an answer to the owner that has asked, deposed or not.
    func decided(_ id: DecisionID, _ answer: DecisionAnswer, _ run: Int, _ node: SimulatedNode) {
        if node === owner, run == turns.run {
            turns.decided(run, id, answer)
        } else if node.deposed?.run == run {
            decide(.decided(id, answer.result), at: node)
        }
    }

    func crowdArrives(_ request: CrowdRequest) {
        guard let owner, owner.isServing, !owner.isStopped, let decider = backend?.decider,
            let (principal, asked) = decider.reached(request, run: turns.run)
        else { return }
        turns.serve(.requested(request.id, principal, asked))
    }

    func lookAtCrowd(_ id: RequestID) {
        let isStalled = turns.isStoreStalled || owner?.isStopped != false
        backend?.decider?.look(id, run: turns.run, isStalled: isStalled)
    }
}
