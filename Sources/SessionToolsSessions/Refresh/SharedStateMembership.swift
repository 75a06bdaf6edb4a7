import SecretStores
import Synchronization

/// A session's membership in the state that it shares with other sessions of the same item.
///
/// The state ends with its last member, or when it has stored what could not be stored at first: a
/// program may make a session for each request.
final class SharedStateMembership: Sendable {
  private struct Entry {
    let state: SharedSessionState
    var memberCount: Int
  }

  private static let entries = Mutex<[SharedSessionState.Identity: Entry]>([:])

  let state: SharedSessionState
  private let identity: SharedSessionState.Identity?

  /// Joins the state of an item, or a new one if nothing distinguishes the item from others.
  init(_ identity: SharedSessionState.Identity?) {
    self.identity = identity
    guard let identity else {
      state = SharedSessionState()
      return
    }
    state = Self.entries.withLock { entries in
      let state = entries[identity]?.state ?? SharedSessionState()
      entries[identity, default: Entry(state: state, memberCount: 0)].memberCount += 1
      return state
    }
  }

  deinit {
    guard let identity else { return }
    Self.entries.withLock { entries in
      entries[identity]?.memberCount -= 1
      if entries[identity]?.memberCount == 0, state.unsaved == nil { entries[identity] = nil }
    }
  }

  /// Tries once more to store refreshed items that could not be stored.
  ///
  /// - Returns: Whether none is left.
  static func storeUnsavedItems() async -> Bool {
    var isDone = true
    for state in entries.withLock({ $0.values.map(\.state) }) {
      guard let unsaved = state.unsaved else { continue }
      do {
        _ = try await unsaved.storeOnce()
        state.unsaved = nil
      } catch {
        isDone = false
      }
    }
    return isDone
  }
}
