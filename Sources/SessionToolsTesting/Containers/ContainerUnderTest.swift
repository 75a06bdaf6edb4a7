public import SessionToolsBase

/// A container that a check is made with, and what a test can do with it beyond its operations.
///
/// Checks need one that is fresh and empty each time.
public struct ContainerUnderTest<Item: Equatable & Sendable> {
  /// The container.
  public let container: any SessionContainer<Item>
  /// Two items that differ.
  public let items: (first: Item, second: Item)
  /// Gives another container of the same items.
  public let reopen: (() async throws -> any SessionContainer<Item>)?
  /// Makes the items unreadable for a while, as by locking the store below.
  public let lock: (() async throws -> Void)?
  /// Ends that.
  public let unlock: (() async throws -> Void)?
  /// Puts something in the place of an item that cannot be decoded.
  public let damage: ((_ identifier: String) async throws -> Void)?
  /// Removes what was made for the container, after the check.
  public let cleanUp: (() async throws -> Void)?

  /// Describes a container.
  ///
  /// - Parameters:
  ///   - container: The container, which is empty.
  ///   - items: Two items that differ.
  ///   - reopen: Gives another container of the same items, for those that keep them longer than
  ///     the container lives.
  ///   - lock: Makes the items unreadable, for containers to which that can happen.
  ///   - unlock: Ends that.
  ///   - damage: Puts something in the place of an item that cannot be decoded, for containers to
  ///     which that can happen.
  ///   - cleanUp: Removes what was made for the container; called once, also when a check fails.
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
