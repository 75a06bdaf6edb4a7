import Foundation
import SessionToolsTesting
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The package that an article builds, written and tested as its readers would: outside of this
/// package, where only the public API can be seen.
@Suite(.onOwnThread) struct StoreArticleTests {
  static let article = ReadmeTests.file(
    "Sources/SecretStores/SecretStores.docc/WriteAStore.md")

  /// The article's blocks of code, in order; the line before each block names its file.
  static let blocks = article.matches(
    of: /\n`([^`\n]+)`:\n\n```[a-z]*\n(.*?)\n```\n/.dotMatchesNewlines()
  ).map { (path: String($0.1), text: String($0.2)) }

  @Test func `every block of code in the article names its file`() {
    let fenceCount = Self.article.components(separatedBy: "\n```").count - 1
    #expect(Self.blocks.count > 0)
    #expect(Self.blocks.count * 2 == fenceCount)
  }

  @Test func `the store that the article builds keeps every promise`() throws {
    // The build is kept, so that only the first run takes long.
    let place = "\(BuildDirectory.path)/store-article"
    try Self.writePackage(in: place)
    let test = try ReadmeTests.run([
      "swift", "test", "--package-path", "\(place)/SQLiteStore", "-Xswiftc", "-warnings-as-errors",
    ])
    #expect(test.status == 0, "\(test.output)")
    // Every check that needs no more than another object of the same data.
    let stores = StoreConformance.all.filter {
      $0.requirements.isSubset(of: [.atomicity, .limitedValues, .reopening])
    }
    let containers = ContainerConformance.all.filter {
      $0.requirements.isSubset(of: [.observable, .storeBacked, .reopening])
    }
    let counts = test.output.matches(of: /with (\d+) test cases passed/).compactMap { Int($0.1) }
    #expect(Set(counts) == [stores.count, containers.count], "\(test.output)")
  }

  /// Writes the article's files, and a link to this package beside them.
  private static func writePackage(in place: String) throws {
    let files = FileManager.default
    for name in ["SessionTools", "SQLiteStore/Sources", "SQLiteStore/Tests"] {
      if (try? files.attributesOfItem(atPath: "\(place)/\(name)")) != nil {
        try files.removeItem(atPath: "\(place)/\(name)")
      }
    }
    for (path, blocks) in Dictionary(grouping: blocks, by: \.path) {
      let file = URL(filePath: "\(place)/SQLiteStore/\(path)")
      try files.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      let text = blocks.map { "\($0.text)\n" }.joined(separator: "\n")
      try text.write(to: file, atomically: false, encoding: .utf8)
    }
    try files.createSymbolicLink(
      atPath: "\(place)/SessionTools", withDestinationPath: SourceDirectory.path)
  }
}
