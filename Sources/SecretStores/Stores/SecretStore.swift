/// Bytes under names: the protocol that every backend implements.
///
/// Every operation exists twice under the same name, blocking and `async`. In an `async` function
/// Swift picks the `async` one, which never blocks a thread of the cooperative pool. A backend
/// conforms to ``BlockingSecretStore`` or ``AsyncSecretStore``, implements one kind and gets the
/// other. Only as requirements do the `async` ones begin with `async`: for an `async` requirement
/// of the same name Swift would use the blocking function, rather than the default that moves it
/// off the pool. <doc:WriteAStore> builds a whole store.
///
/// What every store promises:
/// - `nil` means that the store is open and the item is absent, and nothing else. Locked,
///   unavailable, damaged and denied are errors.
/// - Reads change nothing, create nothing and show no prompt.
/// - When `apply` has returned, the changes are as durable as ``StoreTraits`` says; when it threw
///   anything but `outcomeUnknown`, a store whose traits say `isAtomic` changed nothing.
/// - No error ever removes an item.
/// - Any number of threads and tasks may use it at the same time. A read sees every change that
///   returned before the read began.
///
/// A blocking operation holds its thread until it ends: microseconds in memory, milliseconds on a
/// disk, up to the store's own timeout where it waits for another process or a service. The codes
/// listed here are those that stores usually throw; a store's documentation names others.
public protocol SecretStore: Sendable {
  /// What this store can do; the same for as long as the store is open.
  var traits: StoreTraits { get }

  /// Returns what protects the values at rest, now.
  ///
  /// Blocks as ``value(for:)`` does.
  ///
  /// - Throws: As ``value(for:)``.
  func protection() throws(StoreError) -> StoreProtection

  /// Returns the identity of the items that this store gives access to.
  ///
  /// It is the same text for every way to them, and another one for other items; `nil` if the store
  /// has no identity, or does not know it now.
  ///
  /// Sessions of stores with one identity share one refresh, and a migration removes items only if
  /// source and target have different ones. The default is `nil`: then only sessions of the same
  /// store object share a refresh in this process. Blocks as ``value(for:)`` does.
  ///
  /// - Throws: As ``value(for:)``.
  func identity() throws(StoreError) -> String?

  /// Reads one value; `nil` when there is no such item.
  ///
  /// Blocks the thread while it reads.
  ///
  /// - Throws: `locked`, `unavailable`, `corrupt`, `accessDenied`, `timedOut` or `io`.
  func value(for name: ItemName) throws(StoreError) -> SecretBytes?
  /// Reads one value; `nil` when there is no such item.
  ///
  /// Suspends the task while it reads.
  ///
  /// - Throws: As ``value(for:)``, or `cancelled` where the store stops with its task.
  func asyncValue(for name: ItemName) async throws(StoreError) -> SecretBytes?

  /// Returns whether there is an item, without reading its value if the store can.
  ///
  /// Blocks as ``value(for:)`` does.
  ///
  /// - Throws: As ``value(for:)``: a store that does not know does not return `false`.
  func contains(_ name: ItemName) throws(StoreError) -> Bool
  /// Returns whether there is an item.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  func asyncContains(_ name: ItemName) async throws(StoreError) -> Bool

  /// Makes changes in the order given: all or none where ``StoreTraits/isAtomic`` holds.
  ///
  /// Blocks the thread until the changes are made, and durable where ``StoreTraits/isDurable``
  /// holds. Lists that are applied at the same time are made one after the other where
  /// ``StoreTraits/isAtomic`` holds, in either order.
  ///
  /// Removing an absent item is not an error. An empty list does nothing. A value above
  /// ``StoreTraits/maximumValueByteCount`` is refused before any change of its list is made. A list
  /// above ``StoreTraits/maximumChangeCount`` or ``StoreTraits/maximumListByteCount`` may be
  /// refused in the same way.
  ///
  /// - Throws: `locked`, `unavailable`, `valueTooLarge`, `noSpace`, `timedOut`, `corrupt`,
  ///   `accessDenied` or `io`, and nothing was changed where ``StoreTraits/isAtomic`` holds, or a
  ///   first part of the list elsewhere; `outcomeUnknown`, and the changes may or may not be there.
  func apply(_ changes: [StoreChange]) throws(StoreError)
  /// Makes changes in the order given.
  ///
  /// Suspends the task until they are made. Once begun, the change is not undone by cancelling the
  /// task.
  ///
  /// - Throws: As ``apply(_:)``, or `cancelled`, and nothing was changed.
  func asyncApply(_ changes: [StoreChange]) async throws(StoreError)

  /// Returns the names of one namespace, or of all when `nil`, in ascending order.
  ///
  /// Blocks the thread while it reads.
  ///
  /// - Throws: As ``value(for:)``.
  func names(in namespace: StoreNamespace?) throws(StoreError) -> [ItemName]
  /// Returns the names of one namespace, or of all when `nil`, in ascending order.
  ///
  /// Suspends the task while it reads.
  ///
  /// - Throws: As ``asyncValue(for:)``.
  func asyncNames(in namespace: StoreNamespace?) async throws(StoreError) -> [ItemName]

  /// Checks that the store can be read now, for a probe of readiness.
  ///
  /// A store in a database has a connection for it that no other call waits for, so that a busy
  /// instance is not taken out of service. The default asks for an item that there never is.
  ///
  /// Blocks the thread until there is an answer, but no longer than the time given.
  ///
  /// - Throws: `timedOut` when there is no answer in time; as ``value(for:)``.
  func check(within timeout: Duration) throws(StoreError)
  /// Checks that the store can be read now, for a probe of readiness.
  ///
  /// Suspends the task until there is an answer, but no longer than the time given.
  ///
  /// - Throws: As ``check(within:)``, or `cancelled`.
  func asyncCheck(within timeout: Duration) async throws(StoreError)

  /// Runs a closure while no one else has exclusive access to the same name.
  ///
  /// Excludes other tasks, threads and, where ``StoreTraits/excludesOtherProcesses`` holds,
  /// processes that ask for the same name; it does not stop plain reads and changes. The access
  /// ends with the closure, and with the process, however that dies. Asking for the same name again
  /// inside the closure waits until the timeout.
  ///
  /// Where there is a ``StoreTraits/exclusionLease``, the access also ends when this process does
  /// not run for that long. The closure goes on, but every change that it makes is refused with
  /// `exclusionLost`.
  ///
  /// Blocks the thread while it waits. The store decides which waiter is next.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - timeout: How long to wait for the name; zero or less takes it only if it is free.
  ///   - body: The closure, which runs at most once.
  /// - Returns: What the closure returns.
  /// - Throws: `timedOut`, and the closure did not run; `locked`, `io`, or what the closure throws.
  func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: () throws -> Result
  ) throws -> Result
  /// Runs a closure while no one else has exclusive access to the same name.
  ///
  /// Suspends the task while it waits, and runs the closure where the caller runs. A store of your
  /// own writes `nonisolated(nonsending)` in both places, as here, unless its package enables the
  /// upcoming feature `NonisolatedNonsendingByDefault`.
  ///
  /// - Throws: `timedOut`, `cancelled` when the task was cancelled while waiting, `locked`, `io`,
  ///   or what the closure throws.
  nonisolated(nonsending) func withExclusiveAccess<Result>(
    to name: ItemName, timeout: Duration, _ body: nonisolated(nonsending) () async throws -> Result
  ) async throws -> Result

  /// Returns a stream of the names that change from now on, whichever object changes them.
  ///
  /// Returns at once. Each call makes a new stream; it ends when its task is cancelled or
  /// the store goes away. Changes by other processes are in it where
  /// ``StoreTraits/seesOtherProcesses`` holds.
  ///
  /// An event is sent when its change can be read, and events come in the order of the changes. One
  /// event may stand for several changes, and a put of the value that is already stored need not
  /// have one. A listener that fell too far behind gets ``StoreEvent/resynchronize`` for the events
  /// it missed.
  func changes() -> AsyncStream<StoreEvent>

  /// Returns a stream of the changes of some names from now on, whichever object makes them.
  ///
  /// As ``changes()``, without the events of other names. Thousands of sessions may listen, each to
  /// its own item. The default filters ``changes()``, so that a store of your own sends each event
  /// to each of them unless it does better.
  func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent>
}

/// One change of one item.
public enum StoreChange: Sendable {
  /// Stores a value, replacing an older one if there is one.
  case put(SecretBytes, for: ItemName)
  /// Removes the item if there is one.
  case remove(ItemName)

  /// The name of the changed item.
  public var name: ItemName {
    switch self {
    case .put(_, for: let name), .remove(let name): name
    }
  }
}

extension StoreChange {
  /// The bytes that count towards ``StoreTraits/maximumListByteCount``: those of the name and the
  /// value.
  package var listByteCount: Int {
    switch self {
    case .put(let value, for: let name): name.canonicalByteCount + value.byteCount
    case .remove(let name): name.canonicalByteCount
    }
  }
}

/// An event of a change stream.
public enum StoreEvent: Hashable, Sendable {
  /// These items were put or removed.
  case changed(Set<ItemName>)
  /// Anything may have changed: the store was unlocked or rewritten, or events were missed.
  case resynchronize

  /// Returns the event without the names that are not among some; `nil` if none is left.
  func part(of names: Set<ItemName>) -> StoreEvent? {
    guard case .changed(let changed) = self else { return self }
    let part = changed.intersection(names)
    return part.isEmpty ? nil : .changed(part)
  }

  /// Returns whether an item may have changed.
  public func concerns(_ name: ItemName) -> Bool {
    switch self {
    case .changed(let names): names.contains(name)
    case .resynchronize: true
    }
  }
}
