/// Settings that are given under a former name, which is accepted for one release.
extension SettingsSource {
    /// Warnings for the operator that do not prevent the start: variables that do nothing, and former names.
    var warnings: [String] { unknownVariables() + formerNames() }

    /// Returns a warning for every place where a setting is given under its former name.
    private func formerNames() -> [String] {
        Setting.all.flatMap { setting in
            given(setting).filter { $0.name == setting.formerName }.map { former in
                let now = Given(origin: former.origin, name: setting.name, texts: [])
                return "\(former.label) is the old name of \(now.label), and goes in the next release"
            }
        }
    }

    /// Refuses a setting that is given under both of its names, in whichever sources.
    ///
    /// One of the two values would otherwise silently do nothing.
    func refuseDoubleNames() throws(UsageError) {
        for setting in Setting.all {
            let given = given(setting)
            guard let new = given.first(where: { $0.name == setting.name }),
                let former = given.first(where: { $0.name == setting.formerName })
            else { continue }
            throw UsageError("\(new.label) and \(former.label) are two names of one setting: give only the first")
        }
    }
}
