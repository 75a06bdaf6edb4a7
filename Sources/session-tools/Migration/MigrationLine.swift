import SessionTools
import Synchronization

/// How far a migration is, in a line on standard error: items, bytes, rate, and the time that is
/// left.
final class MigrationLine: Sendable {
  private static let pause = Duration.milliseconds(100)

  private struct State {
    var phase: MigrationProgress.Phase?
    var start = ContinuousClock.now
    var bytesAtStart = 0
    var next = ContinuousClock.now + .milliseconds(500)
    var isShown = false
  }

  private let state = Mutex(State())

  /// `nil` where nobody sees it.
  var progress: MigrationProgress? {
    guard StandardError.isTerminal else { return nil }
    return MigrationProgress { phase, done, total, byteCount in
      self.show(phase, done, total, byteCount)
    }
  }

  private func show(_ phase: MigrationProgress.Phase, _ done: Int, _ total: Int, _ byteCount: Int) {
    state.withLock { state in
      let now = ContinuousClock.now
      if state.phase != phase {
        state.phase = phase
        state.start = now
        state.bytesAtStart = byteCount
      }
      guard now >= state.next else { return }
      state.next = now + Self.pause
      state.isShown = true
      let seconds = (now - state.start) / .seconds(1)
      let byteCount = byteCount - state.bytesAtStart
      var text = "\(phase.rawValue) \(Self.bar(done, of: total)) \(done) of \(total)"
      if seconds > 0, done > 0 {
        let rate = Int(Double(byteCount) / seconds)
        let left = Int((seconds / Double(done) * Double(total - done)).rounded(.up))
        text += ", \(Size.text(byteCount)), \(Size.text(rate)) a second, \(left) s left"
      }
      StandardError.write("\r\(text)\u{1b}[K")
    }
  }

  private static func bar(_ done: Int, of total: Int) -> String {
    let width = 20
    let count = total > 0 ? width * done / total : width
    return
      "[\(String(repeating: "#", count: count))\(String(repeating: " ", count: width - count))]"
  }

  func clear() {
    if state.withLock({ $0.isShown }) { StandardError.write("\r\u{1b}[K") }
  }
}
