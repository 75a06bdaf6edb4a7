import SessionToolsBase
import Testing

struct NeverHappened: Error {
  let what: String
}

/// How long anything may take before a test takes it for broken: so long that only a fault does.
let patience = Duration.seconds(300)

/// Looks again and again until something is so.
func wait(until what: String, _ isSo: () async throws -> Bool) async throws {
  let end = ContinuousClock.now + patience
  while try await !isSo() {
    guard ContinuousClock.now < end else { throw NeverHappened(what: what) }
    try await Task.sleep(for: .milliseconds(10))
  }
}

/// The code of the error that a closure throws; `nil` when it throws none.
func failure(of body: () async throws -> some Any) async -> StoreError.Code? {
  do {
    _ = try await body()
    return nil
  } catch let error as StoreError {
    return error.code
  } catch {
    Issue.record("\(error)")
    return nil
  }
}
