/// A store whose callers share connections.
package protocol PooledStore: SecretStore {
  /// The connections, now.
  var connections: PooledConnections { get }
}

/// The connections of a store at one time.
package struct PooledConnections: Sendable {
  package let usedCount: Int
  package let idleCount: Int
  package let openingCount: Int
  /// How many callers wait for one.
  package let waiterCount: Int
  /// How many there may be.
  package let maximumCount: Int

  package init(
    usedCount: Int, idleCount: Int, openingCount: Int, waiterCount: Int, maximumCount: Int
  ) {
    self.usedCount = usedCount
    self.idleCount = idleCount
    self.openingCount = openingCount
    self.waiterCount = waiterCount
    self.maximumCount = maximumCount
  }
}
