import CallPorts

extension Complaint {
    /// Reports invalid values of a database on stderr, one line each.
    static func show(_ damages: [DamagedValue]) {
        for damage in damages {
            let what =
                switch damage.remedy {
                case .replaced: "holds a value that cannot be; the nearest that can is shown"
                case .leftOut: "holds a value that cannot be; the row is left out"
                }
            Complaint("database: column \(damage.column) of table \(damage.table), row \(damage.row), \(what)").show()
        }
    }
}
