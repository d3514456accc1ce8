import CallPorts
import Switchboard

/// The decisions of the app's backend about offers, which may come when the run that has asked is over.
extension OneServer {
    func ask(_ question: DecisionRequest) {
        guard let decider = backend?.decider else { return }
        after(decider.ordered(question), .question(question, run: turns.run))
    }

    func questionArrives(_ question: DecisionRequest, _ run: Int) {
        backend?.decider?.arrived(question) { answer, delay in
            after(delay, .decision(run: run, question.id, answer))
        }
    }

    func crowdArrives(_ request: CrowdRequest) {
        guard turns.switchboard != nil, let decider = backend?.decider,
            let (principal, asked) = decider.reached(request, run: turns.run)
        else { return }
        turns.serve(.requested(request.id, principal, asked))
    }
}
