import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestSupport
import TestThreads
import Testing

/// The machine stops at every point of everything that a store does, and any part of what was
/// not synced by then is lost.
@Suite(.onOwnThread, .serialized) struct CrashReplayTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  static let limits = TestSize.choose(
    small: CrashLimits(complete: 64, chosen: 100),
    medium: CrashLimits(complete: 512, chosen: 6_000),
    large: CrashLimits(complete: 4096, chosen: 700_000))

  @Test func `a crash at any point loses nothing that was confirmed and leaves nothing half done`()
    throws
  {
    var counts: [String: Int] = [:]
    for scenario in CrashScenario.all {
      let life = try CrashLife(of: scenario, at: scratch[scenario.description])
      let outcome = try CrashReplay(life: life, limits: Self.limits).run()
      #expect(outcome.problems == [], "\(scenario)")
      counts[scenario.description] = outcome.stateCount
    }
    // At the large size the figures are of interest whatever they are.
    if TestSize.current == .large { print(counts.sorted { $0.key < $1.key }) }
    let total = counts.values.reduce(0, +)
    #expect(total >= TestSize.choose(small: 2000, medium: 100_000, large: 2_000_000), "\(counts)")
  }
}
