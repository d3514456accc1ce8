import CallCore
import CallPorts
import CallWire
import DequeModule

/// An output that waits for a commit: an ack, a response, the report that an operator's command was carried out, or, if
/// the server withholds its decisions, a push or the response to a fetch.
struct DeferredOutput {
    /// The content, without its ticket.
    enum Content {
        case frame(SocketID, [UInt8])
        case reply(RequestID, Reply)
        case done(OperatorCommandID)
        /// A push, which is sent only when the record of it is durable.
        indirect case push(OutgoingPush)
        /// A push that was cancelled while it waited.
        case cancelledPush(PushID)
        /// A fetch of a call that withholds entries. Its response is made when the entries are durable.
        indirect case fetch(RequestID, LongPolls.PendingFetch)
        /// The end of a frame's work, which has bound its connection.
        case settled(SocketID)
        /// A part of an update of the call directory; the next one follows when it is durable.
        case numbersStored

        /// The output that sends the content; `nil` = the switchboard has something to do instead.
        var output: Switchboard.Output? {
            switch self {
            case .frame(let id, let frame): .send(id, frame)
            case .reply(let id, let reply): .reply(id, reply)
            case .done(let id): .done(id)
            case .push(let push): .push(push)
            case .cancelledPush, .fetch, .settled, .numbersStored: nil
            }
        }
    }

    /// The commit that the output waits for.
    let ticket: Ticket
    /// When the output began to wait.
    let since: Moment
    let content: Content
}

/// The changes that were not handed to the store yet, the commits under way, and the outputs that wait for a commit.
///
/// Acknowledgements wait for the commit; relaying does not.
struct CommitQueue {
    private var changes: [Change] = []
    /// The calls whose record must be stored again.
    private(set) var dirty: [Call] = []
    /// Whether the next commit is made even if it has no changes.
    private var isCommitDemanded = false
    /// The outputs that wait for a commit, oldest first.
    private var outputs = Deque<DeferredOutput>()
    /// The commits that the store has not confirmed, oldest first, each with the moment at which it was handed over.
    private var underWay = Deque<(ticket: Ticket, at: Moment)>()
    private var lastTicket = Ticket(rawValue: 0)
    /// The newest commit that is durable.
    private(set) var committed = Ticket(rawValue: 0)
    /// The calls that withhold entries, each with the commit that they wait for, oldest first.
    private var withholdingCalls = Deque<(ticket: Ticket, call: CallNumber)>()

    /// Whether anything has changed since the last commit was handed to the store, or a commit is demanded.
    var hasChanges: Bool { !changes.isEmpty || !dirty.isEmpty || isCommitDemanded }

    /// The number of outputs that wait.
    var waitingCount: Int { outputs.count }

    /// The number of commits that the store has not confirmed.
    var commitsUnderWay: Int { underWay.count }

    /// The ticket under which changes made now will be committed.
    var nextTicket: Ticket { Ticket(rawValue: lastTicket.rawValue + 1) }

    /// The ticket of the commit that contains all changes so far.
    var ticket: Ticket { hasChanges ? nextTicket : lastTicket }

    /// Whether all changes so far are durable.
    var isDurable: Bool { ticket <= committed }

    mutating func append(_ change: Change) { changes.append(change) }

    /// Forces a commit, even an empty one: its success proves that this server still owns the calls.
    mutating func demandCommit() { isCommitDemanded = true }

    /// Ensures that the next commit stores a call's record.
    mutating func markDirty(_ call: Call) {
        guard !call.isDirty else { return }
        call.isDirty = true
        dirty.append(call)
    }

    /// Hands over all changes so far as one commit, if there are any.
    mutating func flush(at now: Moment, into outputs: inout [Switchboard.Output]) {
        guard hasChanges else { return }
        isCommitDemanded = false
        // The changes need not be copied. The next commit is probably as large.
        var batch: [Change] = []
        batch.reserveCapacity(changes.count)
        swap(&batch, &changes)
        if !dirty.isEmpty {
            for call in dirty { call.isDirty = false }
            // One call is inserted without an array of its own.
            if dirty.count == 1, let call = dirty.first {
                batch.insert(.call(call.record), at: 0)
            } else {
                batch.insert(contentsOf: dirty.map { .call($0.record) }, at: 0)
            }
            dirty.removeAll(keepingCapacity: true)
        }
        lastTicket = nextTicket
        underWay.append((lastTicket, now))
        outputs.append(.commit(batch, lastTicket))
    }

    /// Makes a reply wait until all changes so far are durable.
    mutating func wait(_ content: DeferredOutput.Content, since now: Moment) {
        outputs.append(DeferredOutput(ticket: ticket, since: now, content: content))
    }

    /// Records that a call withholds entries until all changes so far are durable.
    mutating func releaseWhenDurable(_ call: CallNumber) { withholdingCalls.append((ticket, call)) }

    /// Returns the next call whose entries have become durable, and removes it.
    mutating func takeReleasableCall() -> CallNumber? {
        guard let first = withholdingCalls.first, first.ticket <= committed else { return nil }
        return withholdingCalls.removeFirst().call
    }

    /// Records that everything up to a ticket is durable.
    mutating func confirm(upTo ticket: Ticket, at now: Moment, metrics: inout Metrics) {
        committed = max(committed, ticket)
        while let first = underWay.first, first.ticket <= ticket {
            underWay.removeFirst()
            metrics.commitMilliseconds.record((now - first.at).milliseconds)
        }
    }

    /// Sends the outputs whose commits are durable.
    /// - Returns: The rest of them, oldest first: cancelled pushes, fetches, settled connections and parts of
    ///   updates, which the switchboard handles now.
    mutating func sendDurable(
        at now: Moment,
        metrics: inout Metrics,
        into sent: inout [Switchboard.Output]
    ) -> [DeferredOutput.Content] {
        var rest: [DeferredOutput.Content] = []
        while let ticket = outputs.first?.ticket, ticket <= committed {
            let first = outputs.removeFirst()
            if let output = first.content.output { sent.append(output) } else { rest.append(first.content) }
            switch first.content {
            case .frame, .reply, .done: metrics.ackMilliseconds.record((now - first.since).milliseconds)
            case .push, .cancelledPush, .fetch, .settled, .numbersStored: break
            }
        }
        return rest
    }

    /// Cancels a push that has not been sent; returns whether there was one.
    mutating func cancelPush(_ id: PushID) -> Bool {
        let index = outputs.firstIndex { if case .push(let push) = $0.content { push.id == id } else { false } }
        guard let index else { return false }
        let push = outputs[index]
        outputs[index] = DeferredOutput(ticket: push.ticket, since: push.since, content: .cancelledPush(id))
        return true
    }

    /// Removes the fetch of a client that no longer waits for the response.
    mutating func removeFetch(_ id: RequestID) {
        outputs.removeAll { if case .fetch(id, _) = $0.content { true } else { false } }
    }

    /// Removes the responses to requests from the waiting outputs, and returns these requests, oldest first.
    ///
    /// The changes of these requests may still become durable.
    mutating func takeRequests() -> [RequestID] {
        var requests: [RequestID] = []
        outputs.removeAll { output in
            switch output.content {
            case .reply(let id, _), .fetch(let id, _): requests.append(id)
            case .frame, .done, .push, .cancelledPush, .settled, .numbersStored: return false
            }
            return true
        }
        return requests
    }
}
