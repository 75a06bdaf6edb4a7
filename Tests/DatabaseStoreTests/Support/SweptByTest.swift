import DatabaseStore

extension DatabaseEnvironment {
  /// An environment in which the test sweeps, as often as it wants, and nothing else does.
  static var sweptByTest: DatabaseEnvironment {
    var environment = DatabaseEnvironment()
    environment.sweepInterval = .zero
    environment.sweepDelay = .seconds(86_400)
    return environment
  }
}
