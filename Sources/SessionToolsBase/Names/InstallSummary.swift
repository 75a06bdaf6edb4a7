/// One installation that has items.
public struct InstallSummary: Hashable, Sendable {
  /// The installation.
  public let install: InstallIdentifier
  /// The number of its items; 1 or more.
  public let itemCount: Int
}

extension InstallSummary {
  /// Returns the installations among keys, in the order of their bytes.
  static func all(in keys: [StoreKey]) -> [InstallSummary] {
    var counts: [InstallIdentifier: Int] = [:]
    for case let install? in keys.map(\.namespace.install) {
      counts[install, default: 0] += 1
    }
    return counts.map { InstallSummary(install: $0.key, itemCount: $0.value) }
      .sorted { $0.install.rawValue.utf8.lexicographicallyPrecedes($1.install.rawValue.utf8) }
  }
}
