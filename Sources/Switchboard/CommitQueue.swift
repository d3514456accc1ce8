import CallCore
import CallPorts
import CallWire
import DequeModule

/// Something that is sent once the changes that it confirms are durable: an ack, a response, or the report that an
/// operator's command was carried out.
struct DeferredReply {
    /// The content, without its ticket.
    enum Content {
        case frame(ConnectionID, [UInt8])
        case reply(RequestID, Reply)
        case done(OperatorCommandID)

        /// The output that sends the content.
        var output: Switchboard.Output {
            switch self {
            case .frame(let id, let frame): .send(id, frame)
            case .reply(let id, let reply): .reply(id, reply)
            case .done(let id): .done(id)
            }
        }
    }

    /// The commit that the reply waits for.
    let ticket: Ticket
    /// When the reply began to wait.
    let since: Moment
    let content: Content
}

/// The changes that were not handed to the store yet, the commits under way, and the replies that wait for a commit.
///
/// Acknowledgements wait for the commit; relaying does not.
struct CommitQueue {
    private var changes: [Change] = []
    /// The calls whose record must be stored again.
    private var dirty: [Call] = []
    /// The replies that wait for a commit, oldest first.
    private var replies = Deque<DeferredReply>()
    /// The commits that the store has not confirmed, oldest first, each with the moment at which it was handed over.
    private var underWay = Deque<(ticket: Ticket, at: Moment)>()
    private var lastTicket = Ticket(rawValue: 0)
    private var committed = Ticket(rawValue: 0)

    /// Whether anything has changed since the last commit was handed to the store.
    var hasChanges: Bool { !changes.isEmpty || !dirty.isEmpty }

    /// The number of replies that wait.
    var replyCount: Int { replies.count }

    /// The ticket under which changes made now will be committed.
    private var nextTicket: Ticket { Ticket(rawValue: lastTicket.rawValue + 1) }

    /// The ticket of the commit that contains all changes so far.
    private var ticket: Ticket { hasChanges ? nextTicket : lastTicket }

    /// Whether all changes so far are durable.
    var isDurable: Bool { ticket <= committed }

    mutating func append(_ change: Change) { changes.append(change) }

    /// Ensures that the next commit stores a call's record.
    mutating func markDirty(_ call: Call) {
        guard !call.isDirty else { return }
        call.isDirty = true
        dirty.append(call)
    }

    /// Hands over all changes so far as one commit, if there are any.
    mutating func flush(at now: Moment, into outputs: inout [Switchboard.Output]) {
        guard hasChanges else { return }
        var batch: [Change] = []
        batch.reserveCapacity(changes.count + dirty.count)
        for call in dirty {
            call.isDirty = false
            batch.append(.call(call.record))
        }
        dirty.removeAll(keepingCapacity: true)
        batch.append(contentsOf: changes)
        changes.removeAll(keepingCapacity: true)
        lastTicket = nextTicket
        underWay.append((lastTicket, now))
        outputs.append(.commit(batch, lastTicket))
    }

    /// Makes a reply wait until all changes so far are durable.
    mutating func wait(_ content: DeferredReply.Content, since now: Moment) {
        replies.append(DeferredReply(ticket: ticket, since: now, content: content))
    }

    /// Records that everything up to a ticket is durable, and sends the replies that waited for it.
    mutating func confirm(
        upTo ticket: Ticket,
        at now: Moment,
        metrics: inout Metrics,
        into outputs: inout [Switchboard.Output]
    ) {
        committed = max(committed, ticket)
        while let first = underWay.first, first.ticket <= ticket {
            underWay.removeFirst()
            metrics.commitMilliseconds.record((now - first.at).milliseconds)
        }
        while let first = replies.first, first.ticket <= ticket {
            replies.removeFirst()
            metrics.ackMilliseconds.record((now - first.since).milliseconds)
            outputs.append(first.content.output)
        }
    }

    /// Removes the responses to requests from the waiting replies, and returns these requests, oldest first.
    ///
    /// The changes of these requests may still become durable.
    mutating func takeRequests() -> [RequestID] {
        var requests: [RequestID] = []
        for reply in replies { if case .reply(let id, _) = reply.content { requests.append(id) } }
        replies.removeAll { if case .reply = $0.content { true } else { false } }
        return requests
    }
}
