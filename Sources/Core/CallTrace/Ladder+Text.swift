/// The ladder as text, for a terminal: four lanes have 80 columns.
extension Ladder {
    /// The distance between two lanes, in characters.
    private static let laneWidth = 18
    private static let timeWidth = 10

    /// The ladder as lines: the names of the lanes, and a line for each row.
    package var text: String { ([heading] + rows.map(line)).joined(separator: "\n") + "\n" }

    private var heading: String {
        var line = String(repeating: " ", count: Self.timeWidth)
        for lane in lanes {
            let shown = Self.cut(lane.name, to: Self.laneWidth - 2)
            line += shown + String(repeating: " ", count: Self.laneWidth - shown.count)
        }
        return line.trimmingEnd()
    }

    private func line(_ row: Row) -> String {
        let time = row.time
        let indent = String(repeating: " ", count: max(0, Self.timeWidth - 1 - time.count))
        return (indent + time + " " + String(cells(row))).trimmingEnd()
    }

    private func cells(_ row: Row) -> [Character] {
        let width = Self.laneWidth
        var cells = [Character](repeating: " ", count: width * lanes.count)
        for lane in lanes.indices { cells[lane * width] = row.step == .gap ? "┆" : "│" }
        switch row.step {
        case .gap: Self.put(row.label, into: &cells, at: 2)
        case .note(let lane): Self.put(row.label, into: &cells, at: lane * width + 2)
        case .arrow(let from, let to, let arrives):
            let (left, right) = (min(from, to) * width, max(from, to) * width)
            for index in left + 1..<right { cells[index] = "─" }
            let head: Character = arrives ? (to > from ? "▶" : "◀") : "×"
            cells[to > from ? right - 1 : left + 1] = head
            let shown = " \(Self.cut(row.label, to: right - left - 6)) "
            for (index, character) in shown.enumerated() { cells[left + 3 + index] = character }
        }
        return cells
    }

    private static func put(_ text: String, into cells: inout [Character], at place: Int) {
        for (index, character) in cut(text, to: cells.count - place).enumerated() { cells[place + index] = character }
    }

    /// Returns a text that is cut to a number of characters.
    static func cut(_ text: String, to count: Int) -> String {
        text.count <= count ? text : String(text.prefix(count - 1)) + "…"
    }
}

extension String {
    fileprivate func trimmingEnd() -> String {
        var text = self[...]
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }
}
