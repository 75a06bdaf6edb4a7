package import SealedStore

/// The environment of a database store: randomness, and times that tests shorten.
package struct DatabaseEnvironment: Sendable {
  package var random: any RandomSource
  /// How long exclusive access lasts without being renewed.
  package var leaseDuration: Duration
  /// Whether exclusive access is renewed, which a stopped process does not do.
  package var renewsLeases: Bool
  /// How long an open transaction may hide changes, before listeners read everything again.
  package var hidingLimit: Duration
  /// How long removals stay.
  package var retention: Duration = Sweeper.retention
  /// How often removals are swept, by all machines together.
  package var sweepInterval: Duration = .seconds(300)
  /// How long after its first change a process begins to take part in that.
  package var sweepDelay: Duration = .seconds(10)

  package init(
    random: any RandomSource = SystemRandomSource(), leaseDuration: Duration = .seconds(30),
    renewsLeases: Bool = true, hidingLimit: Duration = .seconds(10)
  ) {
    self.random = random
    self.leaseDuration = leaseDuration
    self.renewsLeases = renewsLeases
    self.hidingLimit = hidingLimit
  }
}
