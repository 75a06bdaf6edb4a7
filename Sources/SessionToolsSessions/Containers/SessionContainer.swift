public import Foundation

/// Items of one type under identifiers: the protocol of iOS-SessionTools, unchanged.
///
/// Write your own container with these four methods and wrap it in ``AnySessionContainer``. A
/// container that can also report why an item cannot be read, has operations that do not block and
/// reports changes conforms to ``ObservableSessionContainer``. For bytes under names there is
/// `SecretStore`, and ``StoreContainer`` makes a container of any store.
public protocol SessionContainer<Item> {
  /// The type of the stored items.
  associatedtype Item

  /// Returns whether there is an item; `false` also when the container cannot tell.
  func hasItem(forIdentifier identifier: String) -> Bool

  /// Reads an item; `nil` when it is absent.
  ///
  /// - Parameters:
  ///   - identifier: The item's name in this container.
  ///   - jsonDecoder: The decoder, where the container stores JSON.
  /// - Returns: The item, or `nil`.
  /// - Throws: An error when the item cannot be read.
  func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Item?

  /// Removes an item; an absent item is not an error.
  ///
  /// - Throws: The error that kept the item from being removed.
  func removeItem(forIdentifier identifier: String) throws

  /// Stores an item, replacing an older one if there is one.
  ///
  /// - Parameters:
  ///   - item: The item to store.
  ///   - identifier: The item's name in this container.
  ///   - jsonEncoder: The encoder, where the container stores JSON.
  /// - Throws: The error that kept the item from being stored.
  func storeItem(_ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder) throws
}
