/// Something that a test waited for.
package struct NeverHappened: Error {
  package let what: String

  package init(what: String) { self.what = what }
}

/// How long anything may take before a test takes it for broken: so long that only a fault does.
package let patience = Duration.seconds(300)

/// Looks again and again until something is so.
///
/// Looks are counted, not time: a machine that stood still meanwhile, as a virtual one does while it
/// is moved, has not waited.
package func wait(until what: String, _ isSo: () async throws -> Bool) async throws {
  let pause = Duration.milliseconds(10)
  for _ in 0..<Int(patience / pause) {
    if try await isSo() { return }
    try await Task.sleep(for: pause)
  }
  throw NeverHappened(what: what)
}
