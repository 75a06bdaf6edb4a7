import Foundation

/// How much the slow tests do: a little on every run, a lot when they are asked to.
enum TestSize {
  /// Whether `SESSION_TOOLS_TEST_SIZE=large` is set.
  static let isLarge = ProcessInfo.processInfo.environment["SESSION_TOOLS_TEST_SIZE"] == "large"
}
