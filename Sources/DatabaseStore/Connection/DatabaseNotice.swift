/// A notice of something about a store's database that its owner may want to know.
///
/// Nothing is written to any log; pass a closure to ``SealedDatabaseStore/Options`` to receive
/// notices. Later versions may add cases, so a `switch` needs a `default`; ``description`` has a
/// sentence for each.
public enum DatabaseNotice: Hashable, Sendable {
  /// The server may lose changes that it has confirmed when it crashes; the notice has the settings
  /// that are the reason.
  case notDurable(settings: String)
  /// A failover may lose changes that were confirmed.
  case notReplicated
  /// Someone on the way to the server may read what is sent, or take the server's place.
  case exposedConnection
  /// A transaction has been open for long, and changes that were begun after it are reported late.
  case delayedChanges
  /// The system did not lock the pages with the keys, so they may reach swap.
  case keyMemoryNotLocked
}

extension DatabaseNotice: CustomStringConvertible {
  /// A description in one sentence, for people.
  public var description: String {
    switch self {
    case .notDurable(let settings):
      "The server may lose confirmed changes in a crash: \(settings)."
    case .notReplicated:
      "A failover may lose confirmed changes, because the server has no synchronous standby; "
        + "set synchronous_standby_names, and leave synchronous_commit on."
    case .exposedConnection:
      "The connection to the database is not protected by TLS with a checked certificate; "
        + "remove sslmode from the address."
    case .delayedChanges:
      "A transaction on the server has been open for long and delays the reports of changes; find "
        + "it with: SELECT pid, usename, xact_start FROM pg_stat_activity "
        + "WHERE backend_xid IS NOT NULL ORDER BY xact_start."
    case .keyMemoryNotLocked:
      "The keys are not locked into memory and may reach swap; raise the limit with ulimit -l."
    }
  }
}
