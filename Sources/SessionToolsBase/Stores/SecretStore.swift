/// Bytes under names: what every backend implements.
///
/// Every operation exists twice under the same name, blocking and `async`. In an `async`
/// function Swift picks the `async` one, which never blocks a thread of the cooperative pool.
/// A backend conforms to ``BlockingSecretStore`` or ``AsyncSecretStore``, writes the one kind
/// and gets the other. Only as requirements the `async` ones begin with that word: Swift takes
/// a blocking function for an `async` requirement of its name, rather than the default that
/// moves it off the pool.
///
/// What every store promises:
/// - `nil` means that the store is open and the item is absent, and nothing else. Locked,
///   unavailable, damaged and denied are errors.
/// - Reads change nothing, create nothing and ask nobody.
/// - When `apply` returned, the changes are as durable as ``StoreTraits`` says; when it threw
///   anything but `outcomeUnknown`, a store whose traits say `isAtomic` changed nothing.
/// - No error ever removes an item.
public protocol SecretStore: Sendable {
  /// What this store can do and what protects it, now.
  var traits: StoreTraits { get }

  /// Reads one value; `nil` when there is no such item.
  ///
  /// - Throws: `locked`, `unavailable`, `corrupt`, `accessDenied` or `io`.
  func value(for key: StoreKey) throws(StoreError) -> SecretBytes?
  /// Reads one value; `nil` when there is no such item.
  ///
  /// - Throws: As ``value(for:)``.
  func asyncValue(for key: StoreKey) async throws(StoreError) -> SecretBytes?

  /// Whether there is an item, without reading its value where the store can tell.
  ///
  /// - Throws: As ``value(for:)``: a store that cannot tell does not answer `false`.
  func contains(_ key: StoreKey) throws(StoreError) -> Bool
  /// Whether there is an item.
  ///
  /// - Throws: As ``contains(_:)``.
  func asyncContains(_ key: StoreKey) async throws(StoreError) -> Bool

  /// Makes changes in the order given: all or none where ``StoreTraits/isAtomic`` holds.
  ///
  /// Removing an absent item is no error. An empty list does nothing. A value above
  /// ``StoreTraits/largestValueByteCount`` is refused before any change of its list is made.
  ///
  /// - Throws: `locked`, `unavailable`, `valueTooLarge`, `noSpace`, `timedOut`, `corrupt`,
  ///   `outcomeUnknown` or `io`.
  func apply(_ changes: [StoreChange]) throws(StoreError)
  /// Makes changes in the order given.
  ///
  /// Once begun, the change is not undone by cancelling the task.
  ///
  /// - Throws: As ``apply(_:)``.
  func asyncApply(_ changes: [StoreChange]) async throws(StoreError)

  /// The keys of one namespace, or of all when `nil`, in ascending order.
  ///
  /// - Throws: As ``value(for:)``.
  func keys(in namespace: Namespace?) throws(StoreError) -> [StoreKey]
  /// The keys of one namespace, or of all when `nil`, in ascending order.
  ///
  /// - Throws: As ``keys(in:)``.
  func asyncKeys(in namespace: Namespace?) async throws(StoreError) -> [StoreKey]

  /// Runs a closure while nobody else has exclusive access to the same name.
  ///
  /// Excludes other tasks, threads and, where ``StoreTraits/excludesOtherProcesses`` holds,
  /// processes that ask for the same name; it does not stop plain reads and changes. The
  /// access ends with the closure, and with the process, however that dies. Asking for the
  /// same name again inside the closure waits until the timeout.
  ///
  /// - Parameters:
  ///   - key: The name.
  ///   - timeout: How long to wait for it.
  ///   - body: What to do meanwhile.
  /// - Returns: What the closure returns.
  /// - Throws: `timedOut`, `io`, or what the closure throws.
  func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result
  /// Runs a closure while nobody else has exclusive access to the same name.
  ///
  /// - Throws: `timedOut`, `cancelled` when the task was cancelled while waiting, `io`, or what
  ///   the closure throws.
  func withExclusiveAccess<Result>(
    to key: StoreKey, timeout: Duration, _ body: () async throws -> Result
  ) async throws -> Result

  /// The names that change from now on, whoever changes them.
  ///
  /// Each call gives a stream of its own; it ends when its task is cancelled or the store goes
  /// away. Changes by other processes are in it where ``StoreTraits/seesOtherProcesses`` holds.
  func changes() -> AsyncStream<StoreEvent>
}

/// One change of one item.
public enum StoreChange: Sendable {
  /// Stores a value, in the place of an older one if there is one.
  case put(SecretBytes, for: StoreKey)
  /// Removes the item if there is one.
  case remove(StoreKey)

  /// The item that is changed.
  public var key: StoreKey {
    switch self {
    case .put(_, for: let key), .remove(let key): key
    }
  }
}

/// What a change stream tells.
public enum StoreEvent: Hashable, Sendable {
  /// These items were put or removed.
  case changed(Set<StoreKey>)
  /// Anything may have changed: the store was unlocked or rewritten, or events were missed.
  case resynchronize

  /// Whether an item may have changed.
  public func concerns(_ key: StoreKey) -> Bool {
    switch self {
    case .changed(let keys): keys.contains(key)
    case .resynchronize: true
    }
  }
}
