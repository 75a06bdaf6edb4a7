import Dispatch
import SecretStores
import Synchronization

/// Whether what a security key is asked for was cancelled, and the keys that wait for a person.
final class Cancellation: Sendable {
  private struct State {
    var isCancelled = false
    var waiting: [ObjectIdentifier: FIDODevice] = [:]
  }

  /// How long a key may take to notice the order to stop before it gets another one.
  private static let interval = DispatchTimeInterval.milliseconds(100)
  private static let queue = DispatchQueue(label: "session-tools.security-keys.cancel")

  private let state = Mutex(State())

  /// Ends the calls under way with `cancelled`, and all later ones.
  func cancel() {
    let isFirst = state.withLock { state in
      defer { state.isCancelled = true }
      return !state.isCancelled
    }
    if isFirst { Self.queue.async { self.stopWaiting() } }
  }

  /// Orders each key to stop until none waits, because a key ignores the order before it waits.
  private func stopWaiting() {
    let waiting = state.withLock { Array($0.waiting.values) }
    guard !waiting.isEmpty else { return }
    for device in waiting { device.cancel() }
    Self.queue.asyncAfter(deadline: .now() + Self.interval) { self.stopWaiting() }
  }

  /// Runs what a source does for its caller, which ends with `cancelled` and nothing else after a
  /// cancellation.
  ///
  /// - Parameters:
  ///   - name: What the error is about.
  ///   - operation: What to do.
  /// - Returns: What the operation returns.
  /// - Throws: What the operation throws, and `cancelled`.
  func ending<Result>(
    _ name: String, _ operation: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try check(name)
    let result: Result
    do throws(StoreError) {
      result = try operation()
    } catch {
      try check(name)
      throw error
    }
    try check(name)
    return result
  }

  private func check(_ name: String) throws(StoreError) {
    if isCancelled { throw StoreError(.stopRequested, of: name) }
  }

  private var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Calls a key in a way that can be cancelled.
  ///
  /// - Throws: What the call throws, and `cancelled` in its place after a cancellation.
  func during<Result>(
    _ device: FIDODevice, _ call: () throws(FIDOError) -> Result
  ) throws(FIDOError) -> Result {
    let identifier = ObjectIdentifier(device)
    let isLate = state.withLock { state in
      if !state.isCancelled { state.waiting[identifier] = device }
      return state.isCancelled
    }
    if isLate { throw .stopRequested }
    defer { state.withLock { _ = $0.waiting.removeValue(forKey: identifier) } }
    do throws(FIDOError) {
      return try call()
    } catch {
      throw isCancelled ? .stopRequested : error
    }
  }
}
