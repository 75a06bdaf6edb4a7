import SessionToolsBase
import SessionToolsTesting
import Testing

/// Every check can fail: stores with one defect each, and the checks that notice it.
@Suite(.timeLimit(.minutes(20))) struct `a store that is broken` {
  @Test(arguments: Defect.allCases) func `fails the checks of its defect`(
    _ defect: Defect
  ) async throws {
    let checks = StoreConformance.all.filter { !defect.isBroad || defect.failing.contains($0.name) }
    let failures = await withTaskGroup(of: ConformanceFailure?.self) { group in
      for check in checks {
        // A check that is expected to fail may do so by its timeout, which is short.
        let patience = Duration.milliseconds(defect.failing.contains(check.name) ? 500 : 300_000)
        group.addTask {
          await Self.failure(of: check, patience) { BrokenStore.underTest(defect) }
        }
      }
      return await group.reduce(into: [ConformanceFailure]()) { if let one = $1 { $0.append(one) } }
    }
    #expect(Set(failures.map(\.check)) == defect.failing)
    for failure in failures {
      #expect(!failure.description.contains("c0nf1dent1al"), "a failure that shows a value")
      #expect(!failure.expected.isEmpty && !failure.seen.isEmpty && !failure.promise.isEmpty)
    }
  }

  private static func failure(
    of check: StoreConformance.Check, _ patience: Duration,
    on makeStore: @escaping @Sendable () async throws -> StoreUnderTest
  ) async -> ConformanceFailure? {
    do {
      try await check.run(patience: patience, on: makeStore)
      return nil
    } catch let failure as ConformanceFailure {
      return failure
    } catch {
      Issue.record("\(error)")
      return nil
    }
  }

  @Test func `passes every check if nothing is broken`() async throws {
    for check in StoreConformance.all {
      try await check.run { BrokenStore.underTest(nil) }
    }
  }

  @Test func `exists for every check`() {
    let failing = Defect.allCases.reduce(into: Set()) { $0.formUnion($1.failing) }
    #expect(failing == Set(StoreConformance.all.map(\.name)))
    #expect(Defect.allCases.allSatisfy { !$0.failing.isEmpty })
    #expect(failing.count == StoreConformance.all.count, "no two checks have the same name")
  }
}
