import CPostgres

extension Connection {
    /// A statement with the values of its parameters.
    public struct Step: Sendable {
        let sql: SQL
        let parameters: Parameters

        /// The name of the statement.
        public var name: String { sql.name }

        /// Creates a step that runs a statement with these values.
        public init(_ sql: SQL, _ parameters: Parameters = Parameters()) {
            self.sql = sql
            self.parameters = parameters
        }
    }

    /// The steps that were sent together, and their results so far.
    struct SentSteps {
        /// A request of which a sent step consists, with the name of its statement; the server sends one result for it.
        enum Part {
            case prepare(String)
            case run(String)
        }

        var parts: [Part] = []
        /// The index of the part whose result comes next.
        var next = 0
        /// The rows of each part `run` that has succeeded.
        var rows: [Rows] = []
        /// The first failure.
        var failure: PostgresError?

        /// The name of the statement whose result comes next.
        var name: String {
            guard next < parts.count else { return "sync" }
            switch parts[next] {
            case .prepare(let name), .run(let name): return name
            }
        }
    }

    /// Sends steps without waiting for their results; ``receive()`` waits for them.
    ///
    /// A statement is prepared when the connection uses it for the first time, in the same round trip.
    /// - Precondition: The results of the steps that were sent before have been received.
    public func send(_ steps: [Step]) throws(PostgresError) {
        try checkUsable(steps.first?.name ?? "send")
        precondition(sentSteps == nil, "the results of the steps that were sent before were not received")
        var sent = SentSteps()
        var preparing: Set<String> = []
        for step in steps {
            let name = step.sql.name
            if !prepared.contains(name), preparing.insert(name).inserted {
                let types = step.parameters.types
                guard PQsendPrepare(pointer, name, step.sql.text, Int32(types.count), types) == 1 else {
                    throw lost(name)
                }
                sent.parts.append(.prepare(name))
            }
            guard sendPrepared(step) else { throw lost(name) }
            sent.parts.append(.run(name))
        }
        guard PQpipelineSync(pointer) == 1 else { throw lost("sync") }
        sentSteps = sent
        sentAt = .now
        guard PQflush(pointer) >= 0 else { throw lost("flush") }
    }

    /// Waits for the results of the steps that were sent, as long as ``responseWait`` says.
    /// - Returns: The rows of each step.
    /// - Throws: The first failure. If the connection is not lost, an open transaction has been rolled back.
    public func receive() throws(PostgresError) -> [Rows] {
        while var current = sentSteps {
            guard let result = try nextResult(current.name) else {
                guard !isLost else { throw current.failure ?? lost(current.name) }
                current.next += 1
                sentSteps = current
                continue
            }
            let status = PQresultStatus(result)
            if status == PGRES_PIPELINE_SYNC {
                PQclear(result)
                return try finish(current)
            }
            take(result, status, into: &current)
            sentSteps = current
        }
        throw PostgresError(state: .connection, message: "no steps were sent", statement: "receive")
    }

    /// Runs a statement and calls `body` with each row as it arrives, so that never all rows are in memory.
    /// - Precondition: The results of the steps that were sent before have been received.
    public func each(
        _ sql: SQL,
        _ parameters: Parameters = Parameters(),
        _ body: (Rows.Row) -> Void
    ) throws(PostgresError) {
        try checkUsable(sql.name)
        precondition(sentSteps == nil, "the results of the steps that were sent before were not received")
        if !prepared.contains(sql.name) { try prepare(sql, parameters) }
        sentAt = .now
        guard sendPrepared(Step(sql, parameters)), PQpipelineSync(pointer) == 1, PQsetSingleRowMode(pointer) == 1 else {
            throw lost(sql.name)
        }
        var failure: PostgresError?
        while true {
            guard let result = try nextResult(sql.name) else {
                if isLost { throw failure ?? lost(sql.name) }
                continue
            }
            // Each row is a response of its own.
            sentAt = .now
            switch PQresultStatus(result) {
            case PGRES_SINGLE_TUPLE: if let row = Rows(result).first { body(row) }
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                if let failure { throw failure }
                return
            default:
                failure = failure ?? error(of: result, in: sql.name)
                PQclear(result)
            }
        }
    }

    private func prepare(_ sql: SQL, _ parameters: Parameters) throws(PostgresError) {
        let types = parameters.types
        guard PQsendPrepare(pointer, sql.name, sql.text, Int32(types.count), types) == 1, PQpipelineSync(pointer) == 1
        else { throw lost(sql.name) }
        sentSteps = SentSteps(parts: [.prepare(sql.name)])
        sentAt = .now
        _ = try receive()
    }

    private func sendPrepared(_ step: Step) -> Bool {
        let parameters = step.parameters
        return parameters.bytes.withUnsafeBytes { buffer in
            // A null pointer means NULL, so an empty value needs an address as well.
            let start = buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1)
            let values = parameters.offsets.map { offset in
                offset.flatMap { start?.advanced(by: $0) }?.assumingMemoryBound(to: CChar.self)
            }
            let formats = [Int32](repeating: 1, count: values.count)
            return PQsendQueryPrepared(
                pointer,
                step.sql.name,
                Int32(values.count),
                values,
                parameters.lengths,
                formats,
                1
            ) == 1
        }
    }

    private func take(_ result: OpaquePointer, _ status: ExecStatusType, into current: inout SentSteps) {
        guard status != PGRES_PIPELINE_ABORTED, current.next < current.parts.count else {
            // The server skips the statements after a failure.
            PQclear(result)
            return
        }
        if let error = error(of: result, in: current.name) {
            current.failure = current.failure ?? error
            PQclear(result)
            return
        }
        switch current.parts[current.next] {
        case .prepare(let name):
            prepared.insert(name)
            PQclear(result)
        case .run: current.rows.append(Rows(result))
        }
    }

    private func finish(_ current: SentSteps) throws(PostgresError) -> [Rows] {
        sentSteps = nil
        guard let failure = current.failure else { return current.rows }
        if !isLost, PQtransactionStatus(pointer) != PQTRANS_IDLE, failure.statement != Self.rollback.name {
            // A rollback fails only if the connection is lost. The first failure is reported in that case too.
            _ = try? run([Step(Self.rollback)])
        }
        throw failure
    }

    private static let rollback = SQL("rollback", "ROLLBACK")
}
