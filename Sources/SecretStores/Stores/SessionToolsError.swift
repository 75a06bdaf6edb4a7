public import Foundation

/// An error that says whether to try again: `StoreError`, and in the modules above `SessionError`,
/// `RefreshError` and `WebLoginError`.
///
/// ```swift
/// do {
///   show(try await session.validItem())
/// } catch let error as any SessionToolsError where error.isTransient {
///   showOffline()
/// }
/// ```
///
/// `localizedDescription` is the same text as `description`; no secret is in it.
public protocol SessionToolsError: LocalizedError, Sendable, CustomStringConvertible {
  /// Whether the same call may succeed later, without anyone doing anything, as when there is no
  /// network.
  var isTransient: Bool { get }
}

extension SessionToolsError {
  /// The same as `description`.
  public var errorDescription: String? { description }
}
