/// The room that a text takes on a terminal.
extension StringProtocol {
    /// The number of columns: East Asian characters and emoji have two, marks that join the character before have none.
    package var terminalWidth: Int {
        utf8.allSatisfy({ $0 < 0x80 })
            ? utf8.count
            : reduce(0) { $0 + ($1.unicodeScalars.contains(where: Self.isWide) ? 2 : 1) }
    }

    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }
}
