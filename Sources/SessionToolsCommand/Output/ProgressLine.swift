import Foundation
import SealedStore
import Synchronization

/// The progress of a long operation: a line on standard error that is cleared when it ends.
///
/// It is shown only on a terminal, and only once the operation has taken half a second.
final class ProgressLine: Sendable {
  private static let patience = Duration.milliseconds(500)
  private static let pause = Duration.milliseconds(100)

  /// When the line may be shown next.
  private let next = Mutex(ContinuousClock.now + ProgressLine.patience)

  private init() {}

  /// Runs an operation and shows its progress after a label such as "verifying".
  static func during<Result, Failure: Error>(
    _ label: String, _ operation: (SealedFileStore.Progress?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try during { line throws(Failure) in
      guard let line else { return try operation(nil) }
      return try operation { done, total in
        let percent = total > 0 ? min(100, Int(Double(done) / Double(total) * 100)) : 100
        line.show(["\(label) \(percent) %"])
      }
    }
  }

  /// Runs an operation with a line, or with `nil` if standard error is not a terminal, or is one
  /// that cannot clear a line.
  static func during<Result, Failure: Error>(
    _ operation: (ProgressLine?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard StandardError.isTerminal, !isDumb else { return try operation(nil) }
    let line = ProgressLine()
    defer { StandardError.clearProgress() }
    return try operation(line)
  }

  private static let isDumb = ProcessInfo.processInfo.environment["TERM"] == "dumb"

  /// Replaces the text of the line, unless it is too recent.
  ///
  /// - Parameter texts: The same text in several lengths, the longest first. The first one that
  ///   fits on the terminal's line is shown, or else what fits of the last one: a longer text would
  ///   go on in the next line, where it is never cleared.
  func show(_ texts: @autoclosure () -> [String]) {
    next.withLock { next in
      guard ContinuousClock.now >= next else { return }
      next = .now + Self.pause
      let texts = texts()
      // The terminal shows Ctrl-C as ^C behind it, and some go on to the next line as soon as the
      // last column is written.
      let width = max((StandardError.columnCount ?? 80) - 3, 1)
      let text = texts.first { $0.count <= width } ?? String((texts.last ?? "").prefix(width))
      StandardError.show(progress: text)
    }
  }
}
