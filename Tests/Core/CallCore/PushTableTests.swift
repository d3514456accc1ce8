import CallCore
import Testing

@Suite("A table by kinds of push")
struct PushTableTests {
    @Test("It has at most one value of each kind, in the order of the kinds, however they were set")
    func order() {
        var table = PushTable<String>()
        for kind in PushKind.allCases.reversed() { table[kind] = "old" }
        for kind in PushKind.allCases { table[kind] = kind.rawValue }
        #expect(table.entries.map(\.kind) == PushKind.allCases)
        #expect(table.entries.map(\.value) == PushKind.allCases.map(\.rawValue))
        #expect(table == [.web: "web", .firebase: "firebase", .alert: "alert", .voip: "voip"])
    }

    @Test("A value that is removed is gone, and the others stay")
    func removal() {
        var table: PushTable<Int> = [.voip: 1, .alert: 2]
        table[.voip] = nil
        table[.web] = nil
        #expect(!table.has(.voip) && table[.voip] == nil && table[.alert] == 2)
        table[.alert] = nil
        #expect(table.isEmpty && table == [:])
    }
}
