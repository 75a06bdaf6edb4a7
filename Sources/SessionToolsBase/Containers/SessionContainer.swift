public import Foundation

/// Items of one type under identifiers: the protocol of iOS-SessionTools, unchanged.
///
/// Write your own container against these four methods and wrap it in ``AnySessionContainer``.
/// A container that can also say why it has no answer, answer without blocking and tell when
/// an item changes conforms to ``ObservableSessionContainer``. For bytes under names there is
/// ``SecretStore``, and ``StoreContainer`` makes a container of any of those.
public protocol SessionContainer<Item> {
  /// What is stored.
  associatedtype Item

  /// Whether there is an item; `false` also when the container cannot tell.
  func hasItem(forIdentifier identifier: String) -> Bool

  /// Reads an item; `nil` when there is none.
  ///
  /// - Parameters:
  ///   - identifier: The item's name in this container.
  ///   - jsonDecoder: What to decode it with, where the container keeps JSON.
  /// - Returns: The item, or `nil`.
  /// - Throws: What keeps the container from answering.
  func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Item?

  /// Removes an item; no error when there is none.
  ///
  /// - Throws: What kept the item from being removed.
  func removeItem(forIdentifier identifier: String) throws

  /// Stores an item in the place of an older one, if there is one.
  ///
  /// - Parameters:
  ///   - item: What to store.
  ///   - identifier: The item's name in this container.
  ///   - jsonEncoder: What to encode it with, where the container keeps JSON.
  /// - Throws: What kept the item from being stored.
  func storeItem(_ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder) throws
}
