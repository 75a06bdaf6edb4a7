/// What the owner of a store may want to know about its database.
package enum DatabaseNotice: Hashable, Sendable {
  /// The server may lose changes that it has confirmed when it crashes.
  case notDurable(ServerState.Settings)
  /// A failover may lose changes that were confirmed.
  case notReplicated
}

extension DatabaseNotice: CustomStringConvertible {
  /// A description in one sentence, for people.
  package var description: String {
    switch self {
    case .notDurable(let settings):
      "The server may lose confirmed changes in a crash: fsync is \(settings.fsync), "
        + "full_page_writes is \(settings.fullPageWrites), "
        + "synchronous_commit is \(settings.synchronousCommit)."
    case .notReplicated:
      "A failover may lose confirmed changes, because the server has no synchronous standby; "
        + "set synchronous_standby_names, and leave synchronous_commit on."
    }
  }
}
