/// A name that is not known: of a command, a setting or a variable.
struct MisspeltName {
    private let name: String
    /// The letters that all known names begin with.
    private let prefix: String

    init(_ name: String, prefix: String = "") {
        self.name = name
        self.prefix = prefix
    }

    /// Returns the known name that this one probably means.
    ///
    /// A known name that begins with this one comes first. Otherwise at most a third of the letters may be wrong; two
    /// wrong letters are always allowed.
    func nearest(of known: [String]) -> String? {
        func best(_ names: [String]) -> (name: String, distance: Int)? {
            names.map { ($0, Self.distance(name, $0)) }.min { $0.1 < $1.1 }
        }
        if let longer = best(known.filter { $0.hasPrefix(name) }) { return longer.name }
        let letters = name.utf8.count - prefix.utf8.count
        return best(known).flatMap { $0.distance <= max(2, letters / 3) ? $0.name : nil }
    }

    /// Returns how many letters to insert, remove or change to turn one name into the other (Levenshtein distance).
    static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.utf8.prefix(128))
        let b = Array(b.utf8.prefix(128))
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, y) in b.enumerated() {
                let change = diagonal + (x == y ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(change, diagonal + 1, row[j] + 1)
            }
        }
        return row[b.count]
    }
}
