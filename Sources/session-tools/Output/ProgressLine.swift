import SealedStore
import Synchronization

/// The progress of a long operation: a line on standard error that is cleared when it ends.
///
/// It is shown only on a terminal, and only once the operation has taken half a second.
final class ProgressLine: Sendable {
  private static let patience = Duration.milliseconds(500)
  private static let pause = Duration.milliseconds(100)

  private struct State {
    var next = ContinuousClock.now + ProgressLine.patience
    var isShown = false
  }

  private let state = Mutex(State())

  private init() {}

  /// Runs an operation and shows its progress after a label such as "verifying".
  static func during<Result, Failure: Error>(
    _ label: String, _ operation: (SealedFileStore.Progress?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try during { line throws(Failure) in
      guard let line else { return try operation(nil) }
      return try operation { done, total in
        let percent = total > 0 ? min(100, Int(Double(done) / Double(total) * 100)) : 100
        line.show("\(label) \(percent) %")
      }
    }
  }

  /// Runs an operation with a line, or with `nil` if standard error is not a terminal.
  static func during<Result, Failure: Error>(
    _ operation: (ProgressLine?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard StandardError.isTerminal else { return try operation(nil) }
    let line = ProgressLine()
    defer { line.clear() }
    return try operation(line)
  }

  /// Replaces the text of the line, unless it is too recent.
  func show(_ text: @autoclosure () -> String) {
    state.withLock { state in
      guard ContinuousClock.now >= state.next else { return }
      state.next = .now + Self.pause
      state.isShown = true
      StandardError.write("\r\(text())\u{1b}[K")
    }
  }

  private func clear() {
    if state.withLock({ $0.isShown }) { StandardError.write("\r\u{1b}[K") }
  }
}
