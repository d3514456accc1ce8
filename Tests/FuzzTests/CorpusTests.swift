import Foundation
import FuzzTargets
import Testing

@Suite("The inputs that fuzzing found")
struct CorpusTests {
    /// Beside this folder, as they are kept.
    private static let corpora = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fuzz/corpus")

    @Test("hold what they must, in every target", arguments: fuzzTargets.keys.sorted())
    func holds(_ name: String) throws {
        let target = try #require(fuzzTargets[name]).init()
        let folder = Self.corpora.appendingPathComponent(name)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files.sorted(by: { $0.path < $1.path }) { try target.take(Array(Data(contentsOf: file))) }
    }
}
