import Foundation
import Synchronization

/// The standard input of a command that goes on until it ends.
enum Input {
  private static let isAtEnd = Atomic(false)

  /// Whether it has ended.
  static var isOver: Bool { isAtEnd.load(ordering: .acquiring) }

  /// Reads it until it ends, on a thread.
  static func watch() {
    Thread.detachNewThread {
      while readLine() != nil {}
      isAtEnd.store(true, ordering: .releasing)
    }
  }
}
