/// Operations on the items of installations, including those that no longer exist.
///
/// They concern one service and access group; the install of the given namespace is ignored, so any
/// namespace of the service works.
extension SecretStore {
  /// Returns the installations that have items of a service, and how many each has.
  ///
  /// Items that belong to no installation are not counted.
  ///
  /// - Throws: As ``SecretStore/keys(in:)``.
  public func installs(of service: StoreNamespace) throws(StoreError) -> [InstallIdentifier: Int] {
    Self.itemCounts(of: try keys(of: service))
  }

  /// Returns the installations that have items of a service, and how many each has.
  ///
  /// - Throws: As the blocking twin.
  public func installs(
    of service: StoreNamespace
  ) async throws(StoreError) -> [InstallIdentifier: Int] {
    Self.itemCounts(of: try await keys(of: service))
  }

  private static func itemCounts(of keys: [StoreKey]) -> [InstallIdentifier: Int] {
    var counts: [InstallIdentifier: Int] = [:]
    for case let install? in keys.map(\.namespace.install) {
      counts[install, default: 0] += 1
    }
    return counts
  }

  /// Removes all items of one installation, in one change.
  ///
  /// - Returns: The number of removed items.
  /// - Throws: As ``SecretStore/keys(in:)`` and ``SecretStore/apply(_:)``.
  @discardableResult
  public func purge(
    _ install: InstallIdentifier, of service: StoreNamespace
  ) throws(StoreError) -> Int {
    let keys = try keys(in: try service.with(install: install))
    try apply(keys.map(StoreChange.remove))
    return keys.count
  }

  /// Removes all items of one installation, in one change.
  ///
  /// - Returns: The number of removed items.
  /// - Throws: As the blocking twin.
  @discardableResult
  public func purge(
    _ install: InstallIdentifier, of service: StoreNamespace
  ) async throws(StoreError) -> Int {
    let keys = try await keys(in: try service.with(install: install))
    try await apply(keys.map(StoreChange.remove))
    return keys.count
  }

  /// Removes the items of all installations except those named, in one change.
  ///
  /// Items that belong to no installation stay.
  ///
  /// - Returns: The number of removed items.
  /// - Throws: As ``SecretStore/keys(in:)`` and ``SecretStore/apply(_:)``.
  @discardableResult
  public func purgeInstalls(
    otherThan kept: Set<InstallIdentifier>, of service: StoreNamespace
  ) throws(StoreError) -> Int {
    let keys = Self.others(than: kept, in: try keys(of: service))
    try apply(keys.map(StoreChange.remove))
    return keys.count
  }

  /// Removes the items of all installations except those named, in one change.
  ///
  /// - Returns: The number of removed items.
  /// - Throws: As the blocking twin.
  @discardableResult
  public func purgeInstalls(
    otherThan kept: Set<InstallIdentifier>, of service: StoreNamespace
  ) async throws(StoreError) -> Int {
    let keys = Self.others(than: kept, in: try await keys(of: service))
    try await apply(keys.map(StoreChange.remove))
    return keys.count
  }

  private static func others(
    than kept: Set<InstallIdentifier>, in keys: [StoreKey]
  ) -> [StoreKey] {
    keys.filter { key in
      guard let install = key.namespace.install else { return false }
      return !kept.contains(install)
    }
  }

  /// Returns the keys of a service, whatever their installation.
  private func keys(of service: StoreNamespace) throws(StoreError) -> [StoreKey] {
    let service = try service.with(install: nil)
    return try keys(in: nil).filter { service.isSame(as: $0.namespace) }
  }

  private func keys(of service: StoreNamespace) async throws(StoreError) -> [StoreKey] {
    let service = try service.with(install: nil)
    return try await keys(in: nil).filter { service.isSame(as: $0.namespace) }
  }
}

extension StoreNamespace {
  /// Returns whether both namespaces are of the same service and group.
  fileprivate func isSame(as other: StoreNamespace) -> Bool {
    serviceName == other.serviceName && groupName == other.groupName
  }
}
