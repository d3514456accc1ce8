import CallCore
import CallPorts
import Nodes
import SeededRandom
import Switchboard

/// The owner and the app's backend: the owner delivers and asks, and an owner that was deposed does not know that it should not.
extension NodesServer {
    /// Sends a request to the app's backend, which it reaches whatever becomes of the node.
    func deliver(_ request: EventRequest, by run: Int, _ node: SimulatedNode) {
        guard let backend else { return }
        let delay = backend.ordered(request, by: run)
        after(delay, .deliveryArrives(request, run: run, node: node.number, life: node.life))
    }

    func deliveryArrives(_ request: EventRequest, _ run: Int, _ number: Int, _ life: Int) {
        backend?.arrived(request) { result, delay in
            after(delay, .node(number, life: life, .deliveryResult(request.id, result, run: run)))
        }
    }

    /// Sends a question to the app's backend, whose answer may come when another node owns the calls.
    func ask(_ question: DecisionRequest, by run: Int, _ node: SimulatedNode) {
        guard let decider = backend?.decider else { return }
        after(decider.ordered(question), .question(question, run: run, node: node.number, life: node.life))
    }

    func questionArrives(_ question: DecisionRequest, _ run: Int, _ number: Int, _ life: Int) {
        backend?.decider?.arrived(question) { answer, delay in
            after(delay, .node(number, life: life, .decision(question.id, answer, run: run)))
        }
    }
}
