public import SessionToolsBase

extension FaultyStore {
  /// An operation of a store.
  public enum Operation: String, CaseIterable, Hashable, Sendable {
    /// Reading one value.
    case value
    /// Asking whether there is an item.
    case contains
    /// Listing names.
    case names
    /// Making changes.
    case apply
    /// Exclusive access to a name.
    case exclusiveAccess
    /// A stream of changes.
    case changes
  }

  /// One call of a faulty store, without the values that were put.
  public struct Call: Hashable, Sendable {
    /// The operation that was called.
    public let operation: Operation
    /// Whether the caller was a task or a blocked thread.
    public let kind: StoreConformance.CallKind
    /// The names that were asked for or changed, in order; empty for `names` and `changes`.
    public let names: [ItemName]
    /// The namespace that was listed; `nil` for all, and for other operations.
    public let namespace: StoreNamespace?

    init(
      _ operation: Operation, _ kind: StoreConformance.CallKind, names: [ItemName] = [],
      namespace: StoreNamespace? = nil
    ) {
      self.operation = operation
      self.kind = kind
      self.names = names
      self.namespace = namespace
    }
  }
}

extension Set<FaultyStore.Operation> {
  /// Every operation.
  public static var all: Self { Set(FaultyStore.Operation.allCases) }
  /// The operations that read: `value`, `contains` and `names`.
  public static var reads: Self { [.value, .contains, .names] }
}
