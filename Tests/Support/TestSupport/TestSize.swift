import Foundation

/// How much the slow tests do: `SESSION_TOOLS_TEST_SIZE`.
public enum TestSize: String, Sendable {
  /// Under a sanitizer, where everything takes ten times as long.
  case small
  /// On every run.
  case medium
  /// On request; this takes hours.
  case large

  /// The size that the environment sets.
  public static let current = {
    let name = ProcessInfo.processInfo.environment["SESSION_TOOLS_TEST_SIZE"] ?? medium.rawValue
    guard let size = TestSize(rawValue: name) else {
      preconditionFailure("SESSION_TOOLS_TEST_SIZE is small, medium or large")
    }
    return size
  }()

  /// Returns the value for the current size.
  public static func choose<Value>(small: Value, medium: Value, large: Value) -> Value {
    switch current {
    case .small: small
    case .medium: medium
    case .large: large
    }
  }
}
