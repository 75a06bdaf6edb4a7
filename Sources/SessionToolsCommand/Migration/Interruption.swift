import Dispatch
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
    try handling(body) { number in
      Interruption.received.store(number, ordering: .relaxed)
      _ = Glibc.signal(number, SIG_DFL)
    }
  }

  /// Runs a closure as ``during(_:)`` does, and writes a message as soon as there is a signal.
  static func during<Result>(
    announcing message: String, _ body: () throws -> Result
  ) rethrows -> Result {
    let (end, watch) = (DispatchSemaphore(value: 0), DispatchGroup())
    // Threads of queues get no signals, so that those go on to arrive where they are waited for.
    DispatchQueue.global().async(group: watch) {
      while signal == nil, end.wait(timeout: .now() + .milliseconds(50)) == .timedOut {}
      // Also if the closure is done by now, so that the same is said every time.
      if signal != nil { StandardError.say(message) }
    }
    defer {
      end.signal()
      watch.wait()
    }
    return try during(body)
  }

  /// Runs a closure whose work is short and must be finished, so that no number of signals ends it.
  ///
  /// SIGQUIT still does.
  static func duringShortWork<Result>(_ body: () throws -> Result) rethrows -> Result {
    try handling(body) { Interruption.received.store($0, ordering: .relaxed) }
  }

  private static func handling<Result>(
    _ body: () throws -> Result, by handler: @convention(c) (Int32) -> Void
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
