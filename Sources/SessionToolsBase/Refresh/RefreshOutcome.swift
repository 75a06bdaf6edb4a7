public import Foundation

/// What a refresh handler is asked to do.
public struct RefreshRequest<Item> {
  /// The item to refresh, as it is stored now.
  public let item: Item

  /// Whether what refreshes the item, such as a refresh token that can be used once, may have been
  /// used already: the process was killed, or the connection broke, after it may have been sent and
  /// before the answer was stored.
  ///
  /// Use it once more: servers forgive that, or have not seen it. When they reject it, that is
  /// final.
  public let mayBeSpent: Bool

  /// Which try this is since the last that worked, from 1.
  public let tryNumber: Int

  /// Asks for a refresh, for tests of handlers.
  public init(item: Item, mayBeSpent: Bool = false, tryNumber: Int = 1) {
    self.item = item
    self.mayBeSpent = mayBeSpent
    self.tryNumber = tryNumber
  }
}

extension RefreshRequest: Sendable where Item: Sendable {}

/// What came of a refresh.
public enum RefreshOutcome<Item> {
  /// The item in the place of the older one, and the server's time if it told: the `Date` of its
  /// answer.
  case refreshed(Item, serverTime: Date? = nil)

  /// It did not work this time: no network, a server that is busy. The item stays.
  ///
  /// - `retryAfter`: How long the server asked to wait, if it did.
  /// - `wasSent`: `false` when the request certainly did not leave the machine, so that nothing
  ///   was spent.
  case transientFailure(any Error, retryAfter: Duration? = nil, wasSent: Bool = true)

  /// The server said that there is nothing to refresh any more, such as by `invalid_grant`
  /// (RFC 6749, section 5.2): the user is signed out, unless another process has stored a newer
  /// item meanwhile.
  case rejected(any Error)
}

extension RefreshOutcome: Sendable where Item: Sendable {}
