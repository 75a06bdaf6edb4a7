import Synchronization

/// The name of the tool that runs, as its messages have it.
enum ToolName {
  private static let name = Mutex("session-tools")

  /// Set once, before anything is written.
  static var current: String {
    get { name.withLock { $0 } }
    set { name.withLock { $0 = newValue } }
  }
}
