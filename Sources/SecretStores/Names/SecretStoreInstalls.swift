/// Operations on the items of installations, including those that no longer exist.
///
/// They concern one service and access group; the install of the given namespace is ignored, so any
/// namespace of the service works.
extension SecretStore {
  /// Returns the installations that have items of a service, and how many each has.
  ///
  /// Items that belong to no installation are not counted.
  ///
  /// - Throws: As ``SecretStore/names(in:)``.
  public func installs(of service: StoreNamespace) throws(StoreError) -> [InstallIdentifier: Int] {
    Self.itemCounts(of: try names(of: service))
  }

  /// Returns the installations that have items of a service, and how many each has.
  ///
  /// - Throws: As the blocking twin.
  public func installs(
    of service: StoreNamespace
  ) async throws(StoreError) -> [InstallIdentifier: Int] {
    Self.itemCounts(of: try await names(of: service))
  }

  private static func itemCounts(of names: [ItemName]) -> [InstallIdentifier: Int] {
    var counts: [InstallIdentifier: Int] = [:]
    for case let install? in names.map(\.namespace.install) {
      counts[install, default: 0] += 1
    }
    return counts
  }

  /// Removes all items of one installation, in one change.
  ///
  /// - Returns: The number of removed items.
  /// - Throws: As ``SecretStore/names(in:)`` and ``SecretStore/apply(_:)``.
  @discardableResult
  public func purge(
    _ install: InstallIdentifier, of service: StoreNamespace
  ) throws(StoreError) -> Int {
    let names = try names(in: try service.with(install: install))
    try apply(names.map(StoreChange.remove))
    return names.count
  }

  /// Removes all items of one installation, in one change.
  ///
  /// - Returns: The number of removed items.
  /// - Throws: As the blocking twin.
  @discardableResult
  public func purge(
    _ install: InstallIdentifier, of service: StoreNamespace
  ) async throws(StoreError) -> Int {
    let names = try await names(in: try service.with(install: install))
    try await apply(names.map(StoreChange.remove))
    return names.count
  }

  /// Removes the items of all installations except those named, in one change.
  ///
  /// Items that belong to no installation stay.
  ///
  /// - Returns: The number of removed items.
  /// - Throws: As ``SecretStore/names(in:)`` and ``SecretStore/apply(_:)``.
  @discardableResult
  public func purgeInstalls(
    otherThan kept: Set<InstallIdentifier>, of service: StoreNamespace
  ) throws(StoreError) -> Int {
    let names = Self.others(than: kept, in: try names(of: service))
    try apply(names.map(StoreChange.remove))
    return names.count
  }

  /// Removes the items of all installations except those named, in one change.
  ///
  /// - Returns: The number of removed items.
  /// - Throws: As the blocking twin.
  @discardableResult
  public func purgeInstalls(
    otherThan kept: Set<InstallIdentifier>, of service: StoreNamespace
  ) async throws(StoreError) -> Int {
    let names = Self.others(than: kept, in: try await names(of: service))
    try await apply(names.map(StoreChange.remove))
    return names.count
  }

  private static func others(
    than kept: Set<InstallIdentifier>, in names: [ItemName]
  ) -> [ItemName] {
    names.filter { name in
      guard let install = name.namespace.install else { return false }
      return !kept.contains(install)
    }
  }

  /// Returns the names of a service, whatever their installation.
  private func names(of service: StoreNamespace) throws(StoreError) -> [ItemName] {
    let service = try service.with(install: nil)
    return try names(in: nil).filter { service.isSame(as: $0.namespace) }
  }

  private func names(of service: StoreNamespace) async throws(StoreError) -> [ItemName] {
    let service = try service.with(install: nil)
    return try await names(in: nil).filter { service.isSame(as: $0.namespace) }
  }
}

extension StoreNamespace {
  /// Returns whether both namespaces are of the same service and group.
  fileprivate func isSame(as other: StoreNamespace) -> Bool {
    serviceName == other.serviceName && groupName == other.groupName
  }
}
