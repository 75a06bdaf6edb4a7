import SecretStores
import Synchronization

/// The listeners to single items of a container that has no change stream of its own.
final class ItemObservers: Sendable {
  private struct State {
    var nextNumber = 0
    var continuations: [String: [Int: AsyncStream<Void>.Continuation]] = [:]
  }

  private let state = Mutex(State())

  /// Returns a stream of an item's changes from now on.
  func stream(for identifier: String) -> AsyncStream<Void> {
    // One unread change stands for any number of them.
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.nextNumber += 1
      state.continuations[identifier, default: [:]][state.nextNumber] = continuation
      return state.nextNumber
    }
    continuation.onTermination = { [weak self] _ in
      self?.remove(number, of: identifier)
    }
    return stream
  }

  /// Notifies all listeners to an item.
  func report(_ identifier: String) {
    let continuations = state.withLock { state in
      state.continuations[identifier].map { Array($0.values) } ?? []
    }
    for continuation in continuations {
      continuation.yield()
    }
  }

  private func remove(_ number: Int, of identifier: String) {
    state.withLock { state in
      state.continuations[identifier]?[number] = nil
      if state.continuations[identifier]?.isEmpty == true {
        state.continuations[identifier] = nil
      }
    }
  }

  deinit {
    let continuations = state.withLock { $0.continuations.values.flatMap(\.values) }
    for continuation in continuations {
      continuation.finish()
    }
  }
}
