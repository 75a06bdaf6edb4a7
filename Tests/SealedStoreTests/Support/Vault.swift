import SealedStore

/// A place outside the store's directory, in memory, that keeps anchors.
final class Vault: Sendable {
  struct Refusal: Error {}

  private struct State {
    var saved: [StoreAnchor] = []
    var refuses = false
  }

  private let state = Locked(State())

  /// All anchors that were saved, in order.
  var saved: [StoreAnchor] { state.value.saved }

  /// Makes loading and saving fail, or succeed again.
  func refuse(_ refuses: Bool = true) {
    state.withLock { $0.refuses = refuses }
  }

  /// Adds an anchor as if it had been saved last.
  func put(_ anchor: StoreAnchor) {
    state.withLock { $0.saved.append(anchor) }
  }

  var keeper: StoreAnchor.Keeper {
    StoreAnchor.Keeper(
      load: {
        try self.state.withLock { state in
          if state.refuses { throw Refusal() }
          return state.saved.last
        }
      },
      save: { anchor in
        try self.state.withLock { state in
          if state.refuses { throw Refusal() }
          state.saved.append(anchor)
        }
      })
  }
}
