import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// `session-tools migrate --delete-source`, killed at any moment.
@Suite(.onOwnThread) struct KilledMigrationTests {
  private static let roundCount = TestSize.choose(small: 30, medium: 100, large: 3000)

  @Test func `a killed migration can be resumed or undone, and no item is lost`() throws {
    let stage = try MigrationStage(itemCount: 30)
    try stage.startAnew()
    let (from, to) = (try stage.contents(of: "from"), try stage.contents(of: "to"))
    // The shortest of three runs, because other tests may run at the same time.
    var time = Duration.seconds(60)
    for _ in 0..<3 {
      try stage.startAnew()
      let start = ContinuousClock.now
      #expect(try stage.begin().waitUntilExit() == 0)
      time = min(time, ContinuousClock.now - start)
    }
    let result = try stage.contents(of: "to")
    #expect(try stage.contents(of: "from").isEmpty)
    #expect(result.count == stage.itemCount)
    var begunCount = 0
    for round in 0..<Self.roundCount {
      try stage.startAnew()
      let process = try stage.begin()
      Thread.sleep(forTimeInterval: Double.random(in: 0...1.2) * (time / .seconds(1)))
      process.kill()
      let wasFaster = process.waitUntilExit() >= 0
      var wasBegun = true

      try stage.expectNothingLost(from, "round \(round)")
      if round.isMultiple(of: 2) {
        let resumed = try stage.run("--resume")
        // 4: it was killed before the migration began.
        #expect([0, 4].contains(resumed))
        wasBegun = resumed == 0
        if wasBegun {
          begunCount += 1
        } else {
          #expect(try stage.begin().waitUntilExit() == 0)
        }
        #expect(try stage.contents(of: "from").isEmpty)
        #expect(try stage.contents(of: "to") == result)
      } else {
        let undone = try stage.run("--undo")
        #expect([0, 4].contains(undone))
        wasBegun = undone == 0
        #expect(try stage.contents(of: "from") == from)
        #expect(try stage.contents(of: "to") == to)
      }
      #expect(try [0, 4].contains(stage.run("--close")))
      // The time that a migration takes varies with the other tests that run.
      if wasFaster { time = time * 0.9 } else if !wasBegun { time = time * 1.1 }
    }
    // Otherwise the moments were badly chosen.
    #expect(begunCount > Self.roundCount / 20)
    // A kill while an empty journal is removed leaves a part of it for the next migration.
    try stage.startAnew()
    #expect(try stage.begin().waitUntilExit() == 0)
    #expect(try stage.run("--close") == 0)
    let left = Set(try FileManager.default.contentsOfDirectory(atPath: stage.tool.path))
    #expect(left.isSubset(of: ["from", "home", "key", "template from", "template to", "to"]))
  }
}
