import CallPorts

extension UsageError {
    /// Reports invalid values of a database on stderr, one line each.
    static func show(_ damages: [DamagedValue]) {
        for damage in damages {
            let what =
                switch damage.remedy {
                case .replaced: "holds an invalid value; the nearest valid one is shown"
                case .leftOut: "holds an invalid value; the row is left out"
                }
            UsageError("database: column \(damage.column) of table \(damage.table), row \(damage.row), \(what)").show()
        }
    }
}
