/// The error of a test that waited for something that did not happen.
package struct NeverHappened: Error {
  package let what: String

  package init(what: String) { self.what = what }
}

/// The time after which a test regards something as broken; only a fault takes that long.
package let patience = Duration.seconds(300)

/// Polls until a condition holds.
///
/// The limit is a number of polls, not a time: a machine that stood still meanwhile, as a virtual
/// one does while it is moved, has not waited.
package func wait(until what: String, _ isSo: () async throws -> Bool) async throws {
  let pause = Duration.milliseconds(10)
  for _ in 0..<Int(patience / pause) {
    if try await isSo() { return }
    try await Task.sleep(for: pause)
  }
  throw NeverHappened(what: what)
}
