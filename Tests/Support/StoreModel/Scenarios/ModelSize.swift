/// The size of a search.
package enum ModelSize: Sendable {
  /// A part of every scenario, where all of it takes ten times as long.
  case small
  /// The size for every run.
  case medium
  /// A size that takes minutes.
  case large

  func choose<Value>(_ usual: Value, large: Value) -> Value {
    switch self {
    case .small, .medium: usual
    case .large: large
    }
  }
}

extension Scenario {
  /// The largest number of states at the small size.
  private static let smallLimit = 2000

  /// Returns the scenario within the bounds of a size.
  func bounded(_ size: ModelSize) -> Scenario {
    guard case .small = size else { return self }
    var scenario = self
    switch bounds {
    case .all(let limit), .some(let limit):
      scenario.bounds = .some(limit: min(limit, Self.smallLimit))
    case .random(let runs, let seed):
      scenario.bounds = .random(runs: max(1, runs / 10), seed: seed)
    }
    return scenario
  }
}
