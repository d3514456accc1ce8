import CallCore

/// A table for a terminal.
///
/// Each column is as wide as its widest cell; the last column is not padded. Cells are shown in printable form: text
/// from a client must not control the terminal of the user who reads it.
struct TextTable {
    private let rows: [[String]]

    /// Creates a table from a header row and rows with as many cells.
    init(_ head: [String], _ rows: [[String]]) { self.rows = [head] + rows }

    /// The table's lines, each with a newline at its end.
    var text: String {
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], cell.printable.terminalWidth)
            }
        }
        var text = ""
        for row in rows {
            var line = ""
            for (column, cell) in row.enumerated() {
                let cell = cell.printable
                line += cell
                guard column < row.count - 1 else { continue }
                line += String(repeating: " ", count: widths[column] - cell.terminalWidth + 2)
            }
            while line.last == " " { line.removeLast() }
            text += line + "\n"
        }
        return text
    }
}
