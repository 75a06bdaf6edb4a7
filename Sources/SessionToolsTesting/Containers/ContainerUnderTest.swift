public import SessionToolsBase

/// A container for a check, with what a test can do to it beyond its operations.
///
/// Each check needs a fresh and empty container.
public struct ContainerUnderTest<Item: Equatable & Sendable> {
  /// The container.
  public let container: any SessionContainer<Item>
  /// Two items that differ.
  public let items: (first: Item, second: Item)
  /// Returns another container of the same items.
  public let reopen: (() async throws -> any SessionContainer<Item>)?
  /// Makes the items unreadable for a while, for example by locking the store below.
  public let lock: (() async throws -> Void)?
  /// Makes the items readable again.
  public let unlock: (() async throws -> Void)?
  /// Replaces an item with something that cannot be decoded.
  public let damage: ((_ identifier: String) async throws -> Void)?
  /// Removes what was made for the container, after the check.
  public let cleanUp: (() async throws -> Void)?

  /// Describes a container.
  ///
  /// - Parameters:
  ///   - container: The container, which is empty.
  ///   - items: Two items that differ.
  ///   - reopen: Returns another container of the same items, for containers that do not lose them
  ///     when they are released.
  ///   - lock: Makes the items unreadable, for containers to which that can happen.
  ///   - unlock: Makes the items readable again.
  ///   - damage: Replaces an item with something that cannot be decoded, for containers to which
  ///     that can happen.
  ///   - cleanUp: Removes what was made for the container; called once, even if a check fails.
  /// - Precondition: The items differ.
  public init(
    _ container: some SessionContainer<Item>, items: (Item, Item),
    reopen: (() async throws -> any SessionContainer<Item>)? = nil,
    lock: (() async throws -> Void)? = nil, unlock: (() async throws -> Void)? = nil,
    damage: ((_ identifier: String) async throws -> Void)? = nil,
    cleanUp: (() async throws -> Void)? = nil
  ) {
    precondition(items.0 != items.1, "two items that differ")
    self.container = container
    self.items = (first: items.0, second: items.1)
    self.reopen = reopen
    self.lock = lock
    self.unlock = unlock
    self.damage = damage
    self.cleanUp = cleanUp
  }
}
