extension SecretServiceStore {
  /// Whether a collection of the Secret Service can be used, as determined without a question.
  public enum Availability: Hashable, Sendable {
    /// There is no session bus: no address, or nothing at the address.
    case noBus
    /// No program on the bus provides the service, and the bus can start none.
    case noProvider
    /// The service has no such collection, or no default one.
    case noCollection
    /// The collection is locked.
    case locked
    /// The collection is unlocked, or is an open KWallet wallet, which is unlocked without a
    /// question.
    case unlocked
  }
}
