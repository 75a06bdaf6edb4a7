public import Foundation

/// A request to a refresh handler.
public struct RefreshRequest<Item> {
  /// The item to refresh, as it is stored now.
  public let item: Item

  /// Whether the item's refresh token, or the like, may already have been used.
  ///
  /// That is so when the process was killed, or the connection broke, after the token may have been
  /// sent and before the response was stored. Use it once more: servers forgive that, or have not
  /// seen it. If they reject it, that is final.
  public let mayBeSpent: Bool

  /// The number of this try since the last success, from 1.
  public let tryNumber: Int

  /// Makes a request, for tests of handlers.
  public init(item: Item, mayBeSpent: Bool = false, tryNumber: Int = 1) {
    self.item = item
    self.mayBeSpent = mayBeSpent
    self.tryNumber = tryNumber
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
  /// - `wasSent`: `false` when the request certainly did not leave the machine, so that nothing
  ///   was spent.
  /// - `storing`: What replaces the item although the refresh failed, such as one with the new
  ///   refresh token of an answer without an access token: the old one is spent.
  case transientFailure(
    any Error, retryAfter: Duration? = nil, wasSent: Bool = true, storing: Item? = nil)

  /// The server permanently rejected the refresh, such as by `invalid_grant` (RFC 6749, section
  /// 5.2).
  ///
  /// The user is signed out, unless another process has stored a newer item meanwhile.
  case rejected(any Error)
}

extension RefreshOutcome: Sendable where Item: Sendable {}
