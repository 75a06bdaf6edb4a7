import ToolBase
import WebLogin

/// Waits for an operation that depends on a person; Ctrl-C cancels it.
///
/// - Throws: Any error of the operation.
func waitingForPerson<Value: Sendable>(
  for operation: @escaping @Sendable () async throws -> Value
) throws -> Value {
  try Interruption.during {
    try waiting {
      let work = Task { try await operation() }
      // A signal handler can do no more than record the signal, so this task polls for it.
      let watch = Task {
        while Interruption.signal == nil { try await Task.sleep(for: .milliseconds(50)) }
        work.cancel()
      }
      defer { watch.cancel() }
      return try await work.value
    }
  }
}
