extension InstallIdentifier {
  /// How to adopt an item when both installations have one of that name and the values differ.
  public enum AdoptionConflict: Sendable {
    /// Changes nothing and throws `alreadyExists`.
    case fail
    /// Keeps the item of the new installation; the old item is removed.
    case keepNew
    /// Replaces the new item by the old one.
    case keepOld
  }
}

extension SecretStore {
  /// Moves the items of an old installation to another, in one change.
  ///
  /// The values are stored before the old ones are removed, so that even in a store without atomic
  /// changes every item is always in at least one place, and adopting again finishes the work.
  /// Plain changes by others at the same time are not blocked.
  ///
  /// - Parameters:
  ///   - old: The installation the items belong to; `nil` for those that belong to none.
  ///   - new: The installation they move to; `nil` for none.
  ///   - service: Any namespace of the service and group; its install is ignored.
  ///   - conflict: What to do where both have an item of one name and the values differ.
  /// - Returns: How many items the old installation had.
  /// - Throws: `alreadyExists` before anything is changed; as ``SecretStore/value(for:)`` and
  ///   ``SecretStore/apply(_:)``; `invalidName`.
  @discardableResult
  public func adopt(
    _ old: InstallIdentifier?, into new: InstallIdentifier?, of service: StoreNamespace,
    onConflict conflict: InstallIdentifier.AdoptionConflict = .fail
  ) throws(StoreError) -> Int {
    var adoption = try InstallAdoption(old: old, new: new, service: service, conflict: conflict)
    guard adoption.isMove else { return 0 }
    for name in try names(in: adoption.source) {
      guard let value = try value(for: name) else { continue }
      try adoption.add(value, of: name, against: try self.value(for: adoption.target(of: name)))
    }
    try apply(adoption.changes)
    return adoption.itemCount
  }

  /// Moves the items of an old installation to another, in one change.
  ///
  /// - Parameters:
  ///   - old: The installation the items belong to; `nil` for those that belong to none.
  ///   - new: The installation they move to; `nil` for none.
  ///   - service: Any namespace of the service and group; its install is ignored.
  ///   - conflict: What to do where both have an item of one name and the values differ.
  /// - Returns: How many items the old installation had.
  /// - Throws: As the blocking twin.
  @discardableResult
  public func adopt(
    _ old: InstallIdentifier?, into new: InstallIdentifier?, of service: StoreNamespace,
    onConflict conflict: InstallIdentifier.AdoptionConflict = .fail
  ) async throws(StoreError) -> Int {
    var adoption = try InstallAdoption(old: old, new: new, service: service, conflict: conflict)
    guard adoption.isMove else { return 0 }
    for name in try await names(in: adoption.source) {
      guard let value = try await value(for: name) else { continue }
      try adoption.add(
        value, of: name, against: try await self.value(for: adoption.target(of: name)))
    }
    try await apply(adoption.changes)
    return adoption.itemCount
  }
}

/// The list of changes that moves items from one installation to another.
private struct InstallAdoption {
  let source: StoreNamespace
  private let destination: StoreNamespace
  private let conflict: InstallIdentifier.AdoptionConflict
  private var puts: [StoreChange] = []
  private var removals: [StoreChange] = []

  init(
    old: InstallIdentifier?, new: InstallIdentifier?, service: StoreNamespace,
    conflict: InstallIdentifier.AdoptionConflict
  ) throws(StoreError) {
    source = try service.with(install: old)
    destination = try service.with(install: new)
    self.conflict = conflict
  }

  var isMove: Bool { source != destination }
  var itemCount: Int { removals.count }
  var changes: [StoreChange] { puts + removals }

  func target(of name: ItemName) -> ItemName {
    name.moved(to: destination)
  }

  mutating func add(
    _ value: SecretBytes, of name: ItemName, against existing: SecretBytes?
  ) throws(StoreError) {
    let target = target(of: name)
    removals.append(.remove(name))
    // The same value is not a conflict: an earlier adoption was interrupted.
    guard existing != value else { return }
    if existing != nil {
      switch conflict {
      case .fail:
        throw StoreError(
          .alreadyExists, store: "\(target)",
          reason: "the installation has another item of that name, so nothing was adopted",
          remedy: "Choose which of the two to keep")
      case .keepNew: return
      case .keepOld: break
      }
    }
    puts.append(.put(value, for: target))
  }
}
