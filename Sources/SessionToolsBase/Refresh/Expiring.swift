public import Foundation

/// An item that says until when it is good, such as an access token.
///
/// A type that cannot conform is given to a ``SessionRefresher`` with a closure instead.
public protocol Expiring {
  /// When the item stops being good, by the clock of the server that issued it; `nil` when it
  /// never does.
  var expirationDate: Date? { get }

  /// When the item was issued, by the same clock; `nil` when that is not known.
  ///
  /// With it, every process knows how long the item lasts, and refreshes none that lasts shorter than
  /// ``RefreshPolicy/leeway`` before half of its time is over. Without it, only the process that got
  /// the item from the server does.
  var issueDate: Date? { get }
}

extension Expiring {
  /// Not known.
  public var issueDate: Date? { nil }
}
