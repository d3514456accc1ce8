import CPostgres

extension Connection {
    /// A statement with the values of its parameters.
    package struct Step: Sendable {
        let sql: SQL
        let parameters: Parameters

        /// The name of the statement.
        package var name: String { sql.name }

        /// Creates a step that runs a statement with these values.
        package init(_ sql: SQL, _ parameters: Parameters = Parameters()) {
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
    package func send(_ steps: [Step]) throws(PostgresError) {
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
    package func receive() throws(PostgresError) -> [Rows] {
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
            resultReceived(result, status, into: &current)
            sentSteps = current
        }
        throw PostgresError(state: .connection, message: "no steps were sent", statement: "receive")
    }

    /// Runs a statement and calls `body` with each of its rows, of which never more than two batches are in memory.
    ///
    /// A cursor of the server gives the rows: in libpq's single-row mode, each row costs a copy of the description of all
    /// columns. A batch is on its way while `body` takes the batch before. Each batch has the time of a response, so a
    /// server whose rows trickle is late.
    /// - Precondition: No transaction is open, and the results of the steps that were sent before have been received.
    package func each(_ sql: SQL, _ body: (Rows.Row) -> Void) throws(PostgresError) {
        let cursor = SQL("cursor of \(sql.name)", "DECLARE batches NO SCROLL CURSOR FOR \(sql.text)")
        let next = Step(SQL("batch of \(sql.name)", "FETCH \(Self.rowsPerBatch) FROM batches"))
        var batch = try run([Step(Self.begin), Step(Self.plan), Step(cursor), next])[3]
        while batch.count == Self.rowsPerBatch {
            try send([next])
            batch.each(body)
            batch = try receive()[0]
        }
        batch.each(body)
        try run([Step(Self.commit)])
    }

    /// The number of rows that ``each(_:_:)`` asks for at a time.
    private static let rowsPerBatch = 250
    private static let begin = SQL("begin reading", "BEGIN READ ONLY")
    private static let commit = SQL("end reading", "COMMIT")
    /// Lets the server plan for all rows of the cursor, instead of the first tenth.
    private static let plan = SQL("plan for all rows", "SET LOCAL cursor_tuple_fraction = 1")

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

    private func resultReceived(_ result: OpaquePointer, _ status: ExecStatusType, into current: inout SentSteps) {
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
