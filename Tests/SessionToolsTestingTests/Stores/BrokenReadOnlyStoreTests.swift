import SessionToolsTesting
import Testing

/// Every check of stores that are only read can fail.
@Suite(.timeLimit(.minutes(5))) struct `a broken store that is only read` {
  @Test(arguments: ReadOnlyDefect.allCases) func `fails the checks of its defect`(
    _ defect: ReadOnlyDefect
  ) async {
    var failed: Set<String> = []
    for check in StoreConformance.readOnly {
      do {
        try await check.run { StoreUnderTest(try BrokenReadOnlyStore(defect)) }
      } catch {
        #expect(error is ConformanceFailure)
        failed.insert(check.name)
      }
    }
    #expect(failed == defect.failing)
  }

  @Test func `passes every check if nothing is broken`() async throws {
    for check in StoreConformance.readOnly {
      try await check.run { StoreUnderTest(try BrokenReadOnlyStore(nil)) }
    }
  }

  @Test func `exists for every check`() {
    let failing = ReadOnlyDefect.allCases.reduce(into: Set()) { $0.formUnion($1.failing) }
    #expect(failing == Set(StoreConformance.readOnly.map(\.name)))
  }
}
