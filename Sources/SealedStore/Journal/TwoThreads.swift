import CLinux
import Dispatch
import SecretStores
import Synchronization

/// Work in pieces on two threads: the caller's and a helper's.
///
/// Each thread takes the next piece that the other has not taken, so the caller does not wait for a
/// helper that never comes.
package enum TwoThreads {
  /// Does all pieces of the work.
  ///
  /// - Parameters:
  ///   - count: The number of pieces.
  ///   - body: Does one piece.
  /// - Returns: The results of the pieces, in their order.
  package static func map<Result: Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) -> Result
  ) -> [Result] {
    let work = Work<Result>(count)
    if count > 1 {
      HelperThread.start { while work.doNext(body) {} }
    }
    while work.doNext(body) {}
    return work.results()
  }

  private final class Work<Result: Sendable>: Sendable {
    private struct State {
      var next = 0
      var results: [Result?]
    }

    private let state: Mutex<State>
    /// Signaled for every piece that is done.
    private let done = DispatchSemaphore(value: 0)
    private let count: Int

    init(_ count: Int) {
      self.count = count
      state = Mutex(State(results: Array(repeating: nil, count: count)))
    }

    /// Takes the next piece and does it; `false` when all were taken.
    func doNext(_ body: (Int) -> Result) -> Bool {
      let number = state.withLock { state in
        defer { state.next += 1 }
        return state.next
      }
      guard number < count else { return false }
      let result = body(number)
      state.withLock { $0.results[number] = result }
      done.signal()
      return true
    }

    /// Waits for the pieces that the other thread has taken, and returns all results.
    func results() -> [Result] {
      for _ in 0..<count { done.wait() }
      return state.withLock { $0.results.compactMap(\.self) }
    }
  }
}

/// A thread that helps the one that starts it, at once and for some milliseconds.
enum HelperThread {
  /// Starts a thread on a processor other than the caller's.
  ///
  /// There is no thread in a forked child, and when there is no such processor or no thread can be
  /// created, so the caller must be able to do all of the work.
  static func start(_ body: @escaping @Sendable () -> Void) {
    guard !CurrentProcess.isForkedChild else { return }
    let work = unsafe Unmanaged.passRetained(Work(body))
    let error = unsafe session_tools_start_elsewhere(
      { work in
        guard let work = unsafe work else { return nil }
        unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    if error != 0 { unsafe work.release() }
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
