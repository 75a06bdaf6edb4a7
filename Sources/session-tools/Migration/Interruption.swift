import Glibc
import Synchronization

/// Ctrl-C, and similar signals, during work that can be stopped cleanly.
enum Interruption {
  private static let received = Atomic<Int32>(0)

  /// The signal that was received, if any.
  static var signal: Int32? {
    let number = received.load(ordering: .relaxed)
    return number == 0 ? nil : number
  }

  /// Runs a closure that checks ``signal`` from time to time.
  ///
  /// A second signal ends the process as usual. A signal that was ignored before, as under `nohup`,
  /// stays ignored.
  static func during<Result>(_ body: () throws -> Result) rethrows -> Result {
    try during({ number in
      Interruption.received.store(number, ordering: .relaxed)
      _ = Glibc.signal(number, SIG_DFL)
    }, body)
  }

  /// Runs a closure as ``during(_:)`` does, where a second signal changes nothing either: the work
  /// must be finished, and is short. SIGQUIT still ends the process.
  static func duringShortWork<Result>(_ body: () throws -> Result) rethrows -> Result {
    try during({ Interruption.received.store($0, ordering: .relaxed) }, body)
  }

  private static func during<Result>(
    _ handler: @convention(c) (Int32) -> Void, _ body: () throws -> Result
  ) rethrows -> Result {
    let previous = [SIGINT, SIGTERM, SIGHUP].map { number in
      let before = Glibc.signal(number, handler)
      if isIgnoring(before) { _ = Glibc.signal(number, SIG_IGN) }
      return (number, before)
    }
    defer { for (number, before) in previous { _ = Glibc.signal(number, before) } }
    return try body()
  }

  /// Returns whether a handler, as `signal` returns it, stands for ignoring the signal.
  static func isIgnoring(_ handler: (@convention(c) (Int32) -> Void)?) -> Bool {
    unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
