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
/// What the handler throws is a transient failure: only `rejected` signs anyone out.
public struct SessionRefresher<Item>: Sendable {
  /// Refreshes an item.
  ///
  /// It is never called twice at a time for one item, whatever tasks, threads and processes ask,
  /// where the session's container is on a store (``StoreBackedContainer``); on others, not twice
  /// in this process.
  public typealias Handler =
    @Sendable (_ request: RefreshRequest<Item>) async throws -> RefreshOutcome<Item>

  /// Decides about an item that was changed while it was refreshed.
  ///
  /// It gets what was refreshed, what came of that, and what is stored now, and gives what is to be
  /// stored; `nil` when what is stored now is somebody else's, or from another sign-in.
  public typealias Merge =
    @Sendable (_ sent: Item, _ refreshed: Item, _ stored: Item) -> Item?

  /// How often, how long and how early.
  public var policy: RefreshPolicy
  /// The clocks; those of the machine, but for tests.
  public var clock: any SessionClock
  /// When an item expires; `nil` when it never does.
  public let expiration: @Sendable (Item) -> Date?
  /// When an item was issued, by the same clock; `nil` when that is not known.
  public let issue: @Sendable (Item) -> Date?
  let merge: Merge?
  /// `nil` where items only expire.
  let refresh: Handler?

  /// Says how items are refreshed.
  ///
  /// - Parameters:
  ///   - policy: How often, how long and how early.
  ///   - clock: The clocks.
  ///   - expiration: When an item expires, by the server's clock; without it, as ``Expiring`` says,
  ///     and an item that does not conform never does.
  ///   - issue: When an item was issued, by the same clock; without it, as ``Expiring`` says.
  ///   - merge: Decides about an item that was changed while it was refreshed. Needed where items hold
  ///     more than what is refreshed, such as a profile beside the tokens; without it, what was stored
  ///     meanwhile stays, and what was refreshed is dropped.
  ///   - refresh: Refreshes an item.
  public init(
    policy: RefreshPolicy = RefreshPolicy(), clock: any SessionClock = SystemSessionClock(),
    expiration: @escaping @Sendable (Item) -> Date? = { ($0 as? any Expiring)?.expirationDate },
    issue: @escaping @Sendable (Item) -> Date? = { ($0 as? any Expiring)?.issueDate },
    merge: Merge? = nil, refresh: @escaping Handler
  ) {
    self.policy = policy
    self.clock = clock
    self.expiration = expiration
    self.issue = issue
    self.merge = merge
    self.refresh = refresh
  }

  /// Only knows when items expire that say so.
  init() {
    policy = RefreshPolicy()
    clock = SystemSessionClock()
    expiration = { ($0 as? any Expiring)?.expirationDate }
    issue = { ($0 as? any Expiring)?.issueDate }
    merge = nil
    refresh = nil
  }
}
