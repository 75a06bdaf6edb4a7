import Synchronization

/// A session's membership in the shared state of its item.
///
/// A program may make a session for each request, so the state is released with its last session,
/// or later if it holds an item that could not be stored.
final class LineMembership: Sendable {
  private struct Shared {
    let line: SessionLine
    var memberCount: Int
  }

  private static let lines = Mutex<[SessionLine.Identity: Shared]>([:])

  let line: SessionLine
  private let identity: SessionLine.Identity?

  /// Joins the shared state of an item, or makes a new state for an item without an identity.
  init(_ identity: SessionLine.Identity?) {
    self.identity = identity
    guard let identity else {
      line = SessionLine()
      return
    }
    line = Self.lines.withLock { lines in
      let line = lines[identity]?.line ?? SessionLine()
      lines[identity, default: Shared(line: line, memberCount: 0)].memberCount += 1
      return line
    }
  }

  deinit {
    guard let identity else { return }
    Self.lines.withLock { lines in
      lines[identity]?.memberCount -= 1
      if lines[identity]?.memberCount == 0, line.unsaved == nil { lines[identity] = nil }
    }
  }

  /// Tries again to store refreshed items that could not be stored.
  ///
  /// - Returns: Whether all of them are stored.
  static func storeUnsavedItems() async -> Bool {
    var isDone = true
    for line in lines.withLock({ $0.values.map(\.line) }) {
      guard let unsaved = line.unsaved else { continue }
      do {
        _ = try await unsaved.commit()
        line.unsaved = nil
      } catch {
        isDone = false
      }
    }
    return isDone
  }
}
