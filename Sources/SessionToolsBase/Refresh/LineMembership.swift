import Synchronization

/// That a session is on a line.
///
/// The line ends with the last of them, or when it has stored what could not be stored at first: a
/// program may make a session for each request.
final class LineMembership: Sendable {
  private struct Shared {
    let line: SessionLine
    var memberCount: Int
  }

  private static let lines = Mutex<[SessionLine.Identity: Shared]>([:])

  let line: SessionLine
  private let identity: SessionLine.Identity?

  /// Joins the line of an item; of one that nothing tells apart from others, a new one.
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

  /// Tries once more to store what was refreshed and could not be stored.
  ///
  /// - Returns: Whether nothing is left.
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
