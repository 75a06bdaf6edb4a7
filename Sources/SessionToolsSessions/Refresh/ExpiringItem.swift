public import Foundation

/// An item that knows when it expires, such as an access token.
///
/// For a type that cannot conform, give the ``SessionRefresher`` a closure instead.
public protocol ExpiringItem {
  /// When the item expires, by the clock of the server that issued it; `nil` when it never does.
  var expirationDate: Date? { get }

  /// When the item was issued, by the same clock; `nil` when that is unknown.
  ///
  /// With it, every process knows the item's lifetime, and refreshes no item before half of its
  /// lifetime is over, whatever the ``RefreshPolicy/leeway``. Without it, only the process that got
  /// the item from the server does.
  var issueDate: Date? { get }
}

extension ExpiringItem {
  /// `nil`: the date is unknown.
  public var issueDate: Date? { nil }
}
