public import Foundation

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
