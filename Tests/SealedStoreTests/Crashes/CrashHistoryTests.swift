import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests that one order explains the history of eight processes even if the power fails.
///
/// Nothing that a process had read may be missing afterwards.
@Suite(.onOwnThread, .serialized) struct CrashHistoryTests {
  private static let historyCount = TestSize.choose(small: 4, medium: 16, large: 400)
  private static let limits = CrashLimits(complete: 16, chosen: 16)

  @Test func `nothing that a process had read is missing after a power cut`() throws {
    let outcomes = Locked<[CrashHistory.Outcome]>([])
    let unknownCount = Locked(0)
    try inThreads(2) { half in
      for seed in stride(from: half, to: Self.historyCount, by: 2) {
        let history = try CrashHistory(seed: UInt64(seed))
        let outcome = history.replay(pointCount: 60, Self.limits, seed: UInt64(seed))
        outcomes.withLock { $0.append(outcome) }
        unknownCount.withLock { $0 += history.unknownCount }
      }
    }
    #expect(outcomes.value.flatMap(\.problems).prefix(3) == [])
    let stateCount = outcomes.value.reduce(0) { $0 + $1.stateCount }
    if TestSize.current == .large { print("\(stateCount) states, \(unknownCount.value) unknown") }
    #expect(stateCount >= 200 * Self.historyCount)
    #expect(unknownCount.value > 0)
  }

  @Test func `something is missing if the journal's syncs are ignored`() throws {
    let history = try CrashHistory(seed: 1)
    let broken = CrashHistory(history, ignoringSyncsOf: "journal")
    #expect(broken.replay(pointCount: 60, Self.limits, seed: 1).problems != [])
  }
}
