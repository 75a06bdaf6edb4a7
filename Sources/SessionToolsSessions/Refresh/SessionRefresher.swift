import SecretStores
public import Foundation

/// How the item of a session is refreshed, and when.
///
/// ```swift
/// let refresher = SessionRefresher<Account> { request in
///   do {
///     return .refreshed(try await server.refresh(request.item.refreshToken))
///   } catch let error as ServerError where error.code == "invalid_grant" {
///     return .rejected(error)
///   }
/// }
/// ```
///
/// Errors that the handler throws are transient failures: only `rejected` signs a user out.
public struct SessionRefresher<Item>: Sendable {
  /// Refreshes an item.
  ///
  /// It is never called twice at the same time for one item: among all tasks, threads and processes
  /// where the session's container is on a store (``StoreBackedContainer``), otherwise within this
  /// process. One exception: where exclusive access can be lost (`StoreTraits.exclusionLease`),
  /// others go on without a process that stands still in its handler for that long. When the access
  /// cannot be renewed although the process runs, the handler's task is cancelled some seconds
  /// before the access ends; a handler that goes on nevertheless may run beside another one.
  public typealias Handler =
    @Sendable (_ request: RefreshRequest<Item>) async throws -> RefreshOutcome<Item>

  /// Merges a refreshed item with one that was changed meanwhile.
  ///
  /// It receives the item that was refreshed, the result, and the item stored now, and returns the
  /// item to store; `nil` when the stored item belongs to another user or another sign-in. An item
  /// that expires later than the result, and not when the refreshed one did, was issued later: it
  /// stays, and is not merged.
  public typealias Merge =
    @Sendable (_ sent: Item, _ refreshed: Item, _ stored: Item) -> Item?

  /// How often, how long and how early items are refreshed.
  public var policy: RefreshPolicy
  /// The clocks; those of the machine, except in tests.
  public var clock: any SessionClock
  /// When an item expires; `nil` when it never does.
  public let expiration: @Sendable (Item) -> Date?
  /// When an item was issued, by the same clock; `nil` when that is unknown.
  public let issue: @Sendable (Item) -> Date?
  let merge: Merge?
  /// `nil` where items only expire.
  let refresh: Handler?

  /// Describes how items are refreshed.
  ///
  /// - Parameters:
  ///   - policy: How often, how long and how early items are refreshed.
  ///   - clock: The clocks.
  ///   - expiration: When an item expires, by the server's clock; by default as ``ExpiringItem``
  ///     says, and never for an item that does not conform.
  ///   - issue: When an item was issued, by the same clock; by default as ``ExpiringItem`` says.
  ///   - merge: Merges a refreshed item with one that was changed meanwhile. By default, in a store
  ///     and where the items are `Identifiable` and stored as JSON, the fields that the refresh
  ///     changed replace those of the stored item of the same user, unless others have changed one
  ///     of them; in any other case the stored item stays, and the refreshed one is dropped.
  ///   - refresh: Refreshes an item.
  public init(
    policy: RefreshPolicy = RefreshPolicy(), clock: any SessionClock = SystemSessionClock(),
    expiration: @escaping @Sendable (Item) -> Date? = { ($0 as? any ExpiringItem)?.expirationDate },
    issue: @escaping @Sendable (Item) -> Date? = { ($0 as? any ExpiringItem)?.issueDate },
    merge: Merge? = nil, refresh: @escaping Handler
  ) {
    self.policy = policy
    self.clock = clock
    self.expiration = expiration
    self.issue = issue
    self.merge = merge
    self.refresh = refresh
  }

  /// Makes a refresher that cannot refresh, and only knows when an ``ExpiringItem`` expires.
  init() {
    policy = RefreshPolicy()
    clock = SystemSessionClock()
    expiration = { ($0 as? any ExpiringItem)?.expirationDate }
    issue = { ($0 as? any ExpiringItem)?.issueDate }
    merge = nil
    refresh = nil
  }
}

extension SessionRefresher {
  /// Returns the refresher with something around its handler.
  package func wrapped(
    by wrapper:
      @escaping @Sendable (
        RefreshRequest<Item>, @escaping Handler
      ) async throws -> RefreshOutcome<Item>
  ) -> SessionRefresher {
    guard let refresh else { return self }
    return SessionRefresher(
      policy: policy, clock: clock, expiration: expiration, issue: issue, merge: merge
    ) { try await wrapper($0, refresh) }
  }
}

/// A request to a refresh handler.
public struct RefreshRequest<Item> {
  /// The item to refresh, as it is stored now.
  ///
  /// Its refresh token, or the like, may already have been used: when a process was killed, or its
  /// connection broke, before the response was stored, the same item is sent once more. Servers
  /// forgive that, or have not seen it; if they reject it, that is final.
  public let item: Item

  /// Makes a request, for tests of handlers.
  public init(item: Item) {
    self.item = item
  }
}

extension RefreshRequest: Sendable where Item: Sendable {}

/// The result of a refresh.
public enum RefreshOutcome<Item> {
  /// A new item that replaces the older one, and the server's time if known: the `Date` of its
  /// response.
  case refreshed(Item, serverTime: Date? = nil)

  /// The refresh failed for now, such as without a network, or with a busy server; the item stays.
  ///
  /// - `retryAfter`: How long the server asked to wait, if it did.
  /// - `storing`: What replaces the item although the refresh failed, such as one with the new
  ///   refresh token of an answer without an access token: the old one is spent.
  case transientFailure(any Error, retryAfter: Duration? = nil, storing: Item? = nil)

  /// The server permanently rejected the refresh, such as by `invalid_grant` (RFC 6749, section
  /// 5.2).
  ///
  /// The user is signed out, unless another process has stored a newer item meanwhile.
  case rejected(any Error)
}

extension RefreshOutcome: Sendable where Item: Sendable {}
