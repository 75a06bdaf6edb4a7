public import SessionToolsBase

/// An operation of a store.
public enum StoreOperation: String, CaseIterable, Hashable, Sendable {
  /// Reading one value.
  case value
  /// Asking whether there is an item.
  case contains
  /// Listing keys.
  case keys
  /// Making changes.
  case apply
  /// Exclusive access to a name.
  case exclusiveAccess
  /// A stream of changes.
  case changes
}

extension Set<StoreOperation> {
  /// Every operation.
  public static var all: Self { Set(StoreOperation.allCases) }
  /// The operations that read: `value`, `contains` and `keys`.
  public static var reads: Self { [.value, .contains, .keys] }
}

/// One call of a ``FaultyStore``, without the values that were put.
public struct StoreCall: Hashable, Sendable {
  /// The operation that was called.
  public let operation: StoreOperation
  /// Whether the caller was a task or a blocked thread.
  public let face: Face
  /// The names that were asked for or changed, in order; empty for `keys` and `changes`.
  public let keys: [StoreKey]
  /// The namespace that was listed; `nil` for all, and for other operations.
  public let namespace: StoreNamespace?

  init(
    _ operation: StoreOperation, _ face: Face, keys: [StoreKey] = [],
    namespace: StoreNamespace? = nil
  ) {
    self.operation = operation
    self.face = face
    self.keys = keys
    self.namespace = namespace
  }
}
