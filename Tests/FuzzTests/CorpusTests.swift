import Foundation
import FuzzTargets
import Testing

@Suite("The inputs that fuzzing found")
struct CorpusTests {
    /// The folder of the corpora, beside the folder of this file.
    private static let corpora = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fuzz/corpus")

    @Test("No input of a target's corpus breaks the target", arguments: fuzzTargets.keys.sorted())
    func holds(_ name: String) throws {
        let target = try #require(fuzzTargets[name]).init()
        let folder = Self.corpora.appendingPathComponent(name)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files.sorted(by: { $0.path < $1.path }) { try target.take(Array(Data(contentsOf: file))) }
    }
}
