import WebLogin

/// Waits for something that takes as long as a person does; Ctrl-C cancels it.
///
/// - Throws: What the operation throws.
func waitingForPerson<Value: Sendable>(
  for operation: @escaping @Sendable () async throws -> Value
) throws -> Value {
  try Interruption.during {
    try waiting {
      let work = Task { try await operation() }
      // A signal's handler may do nothing but say that it came.
      let watch = Task {
        while Interruption.signal == nil { try await Task.sleep(for: .milliseconds(50)) }
        work.cancel()
      }
      defer { watch.cancel() }
      return try await work.value
    }
  }
}
