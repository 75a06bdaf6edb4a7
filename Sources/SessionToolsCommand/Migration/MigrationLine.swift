import StoreMigration
import Synchronization

/// The progress of a migration: items, bytes, rate, and remaining time.
final class MigrationLine: Sendable {
  private struct Start {
    let phase: Migration.Phase
    let time = ContinuousClock.now
    let byteCount: Int
  }

  private let line: ProgressLine
  private let start = Mutex<Start?>(nil)

  private init(_ line: ProgressLine) {
    self.line = line
  }

  /// Runs a step of a migration and shows its progress.
  static func during<Result>(_ step: (Migration.Progress?) throws -> Result) throws
    -> Result
  {
    try ProgressLine.during { line in
      try step(line.map { MigrationLine($0).show })
    }
  }

  private func show(_ phase: Migration.Phase, _ done: Int, _ total: Int, _ byteCount: Int) {
    let start = start.withLock { start in
      if let start, start.phase == phase { return start }
      let new = Start(phase: phase, byteCount: byteCount)
      start = new
      return new
    }
    line.show(Self.texts(since: start, done, total, byteCount))
  }

  /// Returns the text in several lengths, the longest first.
  private static func texts(
    since start: Start, _ done: Int, _ total: Int, _ byteCount: Int
  ) -> [String] {
    let seconds = (ContinuousClock.now - start.time) / .seconds(1)
    let byteCount = byteCount - start.byteCount
    let phase = start.phase.rawValue
    let text = "\(phase) \(bar(done, of: total)) \(done) of \(total)"
    let short = "\(phase) \(total > 0 ? 100 * done / total : 100) %"
    guard seconds > 0, done > 0 else { return [text, short] }
    let left = "\(Int((seconds / Double(done) * Double(total - done)).rounded(.up))) s left"
    // Not every phase reads values.
    guard byteCount > 0 else { return ["\(text), \(left)", "\(short), \(left)"] }
    let rate = Int(Double(byteCount) / seconds)
    let size = Size.text(byteCount)
    return [
      "\(text), \(size), \(Size.text(rate)) a second, \(left)", "\(text), \(size), \(left)",
      "\(text), \(left)", "\(short), \(left)",
    ]
  }

  private static func bar(_ done: Int, of total: Int) -> String {
    let width = 20
    let count = total > 0 ? width * done / total : width
    return
      "[\(String(repeating: "#", count: count))\(String(repeating: " ", count: width - count))]"
  }
}
