import Glibc
import Synchronization

/// Ctrl-C while something is under way that can be stopped in good order.
enum Interruption {
  private static let received = Atomic<Int32>(0)

  /// The signal that came, if one did.
  static var signal: Int32? {
    let number = received.load(ordering: .relaxed)
    return number == 0 ? nil : number
  }

  /// Runs a closure that asks for ``signal`` now and then.
  ///
  /// A second one ends the process as always; one that is ignored, as under `nohup`, stays so.
  static func during<Result>(_ body: () throws -> Result) rethrows -> Result {
    let previous = [SIGINT, SIGTERM, SIGHUP].map { number in
      let handler = Glibc.signal(number) { number in
        Interruption.received.store(number, ordering: .relaxed)
        _ = Glibc.signal(number, SIG_DFL)
      }
      if isIgnoring(handler) { _ = Glibc.signal(number, SIG_IGN) }
      return (number, handler)
    }
    defer { for (number, handler) in previous { _ = Glibc.signal(number, handler) } }
    return try body()
  }

  private static func isIgnoring(_ handler: (@convention(c) (Int32) -> Void)?) -> Bool {
    unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
