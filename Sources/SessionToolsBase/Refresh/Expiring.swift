public import Foundation

/// An item that says until when it is good, such as an access token.
///
/// A type that cannot conform is given to a ``SessionRefresher`` with a closure instead.
public protocol Expiring {
  /// When the item stops being good, by the clock of the server that issued it; `nil` when it
  /// never does.
  var expirationDate: Date? { get }
}
