/// Something that a test waited for.
package struct NeverHappened: Error {
  package let what: String

  package init(what: String) { self.what = what }
}

/// How long anything may take before a test takes it for broken: so long that only a fault does.
package let patience = Duration.seconds(300)

/// Looks again and again until something is so.
package func wait(until what: String, _ isSo: () async throws -> Bool) async throws {
  let end = ContinuousClock.now + patience
  while try await !isSo() {
    guard ContinuousClock.now < end else { throw NeverHappened(what: what) }
    try await Task.sleep(for: .milliseconds(10))
  }
}
