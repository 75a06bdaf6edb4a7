import SessionToolsTesting
import Testing

/// Every check can fail: containers with one defect each, and the checks that notice it.
@Suite(.timeLimit(.minutes(20))) struct `a container that is broken` {
  @Test(arguments: ContainerDefect.allCases) func `fails the checks of its defect`(
    _ defect: ContainerDefect
  ) async {
    var failed: Set<String> = []
    for check in ContainerConformance.all
    where !defect.isBroad || defect.failing.contains(check.name) {
      // A check that is expected to fail may do so by its timeout, which is short.
      let patience = Duration.milliseconds(defect.failing.contains(check.name) ? 500 : 300_000)
      if await Self.fails(check, patience, defect) { failed.insert(check.name) }
    }
    #expect(failed == defect.failing)
  }

  private static func fails(
    _ check: ContainerConformance.Check, _ patience: Duration, _ defect: ContainerDefect
  ) async -> Bool {
    do {
      try await check.run(patience: patience) { BrokenContainer.underTest(defect) }
      return false
    } catch {
      #expect(error is ConformanceFailure)
      return true
    }
  }

  @Test func `passes every check if nothing is broken`() async throws {
    for check in ContainerConformance.all {
      try await check.run { BrokenContainer.underTest(nil) }
    }
  }

  @Test func `exists for every check`() {
    let failing = ContainerDefect.allCases.reduce(into: Set()) { $0.formUnion($1.failing) }
    #expect(failing == Set(ContainerConformance.all.map(\.name)))
    #expect(ContainerDefect.allCases.allSatisfy { !$0.failing.isEmpty })
    #expect(failing.count == ContainerConformance.all.count, "no two checks have the same name")
  }
}
