import Dispatch
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

  /// Calls a key in a way that can be cancelled.
  ///
  /// - Throws: What the call throws, and `cancelled` in its place after a cancellation.
  func during<Result>(
    _ device: FIDODevice, _ call: () throws(FIDOError) -> Result
  ) throws(FIDOError) -> Result {
    let identifier = ObjectIdentifier(device)
    let isCancelled = state.withLock { state in
      if !state.isCancelled { state.waiting[identifier] = device }
      return state.isCancelled
    }
    if isCancelled { throw .toldToStop }
    defer { state.withLock { _ = $0.waiting.removeValue(forKey: identifier) } }
    do throws(FIDOError) {
      return try call()
    } catch {
      throw state.withLock { $0.isCancelled } ? .toldToStop : error
    }
  }
}
