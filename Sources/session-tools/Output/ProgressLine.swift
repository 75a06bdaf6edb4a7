import SealedStore
import Synchronization

/// How far a long operation is: a line on standard error that is gone when it ends.
///
/// Only on a terminal, and only once it has taken half a second.
final class ProgressLine: Sendable {
  private static let patience = Duration.milliseconds(500)
  private static let pause = Duration.milliseconds(100)

  private struct State {
    var next = ContinuousClock.now + ProgressLine.patience
    var isShown = false
  }

  private let state = Mutex(State())

  private init() {}

  /// Runs an operation that says how far it is; the label is what is under way: "verifying".
  static func during<Result, Failure: Error>(
    _ label: String, _ operation: (StoreProgress?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try during { line throws(Failure) in
      try operation(
        line.map { line in
          StoreProgress { done, total in
            let percent = total > 0 ? min(100, Int(Double(done) / Double(total) * 100)) : 100
            line.show("\(label) \(percent) %")
          }
        })
    }
  }

  /// Runs an operation that gets the line, or none where nobody would see it.
  static func during<Result, Failure: Error>(
    _ operation: (ProgressLine?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard StandardError.isTerminal else { return try operation(nil) }
    let line = ProgressLine()
    defer { line.clear() }
    return try operation(line)
  }

  /// Shows a text in the place of the last one, unless that is too new.
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
