import Foundation
import SealedStore
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What others put beside a store under the names of journals that were being removed.
@Suite(.onOwnThread) struct PlantedRemainsTests {
  @Test func `a link with the name of a removed journal leads to no file that is removed`() throws {
    let stage = try MigrationStage(itemCount: 3)
    try stage.startAnew()
    let files = FileManager.default
    let other = stage.tool["template to"]
    let before = try files.contentsOfDirectory(atPath: other).sorted()
    let planted = stage.tool["to.migration.\(UUID().uuidString).removed"]
    try files.createSymbolicLink(atPath: planted, withDestinationPath: other)
    #expect(try stage.begin().waitUntilExit() == 0)
    #expect(try stage.run("--close") == 0)
    #expect(try files.contentsOfDirectory(atPath: other).sorted() == before)
    _ = try stage.contents(of: "template to")
    #expect(!files.fileExists(atPath: stage.tool["to.migration"]))
  }

  @Test func `what a killed process left of a journal is removed`() throws {
    let stage = try MigrationStage(itemCount: 3)
    try stage.startAnew()
    let files = FileManager.default
    let left = stage.tool["to.migration.\(UUID().uuidString).removed"]
    try files.copyItem(atPath: stage.tool["template to"], toPath: left)
    #expect(files.createFile(atPath: "\(left)/removed", contents: nil))
    #expect(try stage.begin().waitUntilExit() == 0)
    #expect(!files.fileExists(atPath: left))
  }

  @Test func `a store that someone gave the name of a removed journal stays`() throws {
    let stage = try MigrationStage(itemCount: 3)
    try stage.startAnew()
    let renamed = "to.migration.\(UUID().uuidString).removed"
    try FileManager.default.copyItem(
      atPath: stage.tool["template to"], toPath: stage.tool[renamed])
    #expect(try stage.begin().waitUntilExit() == 0)
    _ = try stage.contents(of: renamed)
  }
}
