import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests in which the machine stops at every point of a store's operations.
///
/// Any part of the unsynced writes is then lost. Other processes read the store meanwhile. The
/// model of the commit protocol determines the exact result for the contents of the disk
/// (``CrashJudge``).
@Suite(.onOwnThread, .serialized) struct CrashReplayTests {
  private static let limits = TestSize.choose(
    small: CrashLimits(complete: 16, chosen: 8),
    medium: CrashLimits(complete: 64, chosen: 30),
    large: CrashLimits(complete: 4096, chosen: 90_000))

  private static let second = TestSize.choose(
    small: CrashReplay.Second(share: 128, limits: CrashLimits(complete: 4, chosen: 2)),
    medium: CrashReplay.Second(share: 128, limits: CrashLimits(complete: 8, chosen: 4)),
    large: CrashReplay.Second(share: 512, limits: CrashLimits(complete: 64, chosen: 60)))

  @Test func `a crash, and a second crash after it, lose nothing that was confirmed or read`()
    throws
  {
    var counts: [String: Int] = [:]
    var secondCount = 0
    for scenario in CrashScenario.all {
      for isWatched in scenario.isDisturbed ? [true, false] : [true] {
        let life = try CrashLife(of: scenario, isWatched: isWatched)
        #expect(!isWatched || life.reads.count > 1, "\(scenario)")
        let allowed = scenario.refusals.union([StoreError.timedOut])
        #expect(life.refusals.isSubset(of: allowed), "\(scenario)")
        let replay = CrashReplay(life: life, limits: Self.limits, second: Self.second)
        let outcome = try replay.run()
        #expect(outcome.problems == [], "\(scenario), watched: \(isWatched)")
        counts[scenario.description, default: 0] += outcome.stateCount
        secondCount += outcome.secondCount
        // Minutes each at the large size, whose figures are printed in any case.
        if TestSize.current == .large {
          print("\(scenario), watched: \(isWatched): \(outcome.stateCount) states")
        }
      }
    }
    let total = counts.values.reduce(0, +)
    #expect(total >= TestSize.choose(small: 10_000, medium: 20_000, large: 2_000_000), "\(counts)")
    #expect(secondCount >= TestSize.choose(small: 2000, medium: 5000, large: 50_000))
  }
}
