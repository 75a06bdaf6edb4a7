import Foundation
public import SessionToolsBase

/// Where a login is kept while it is pending, so that the program may be restarted in between.
///
/// As safe as its container: choose one on a sealed store or the desktop's keyring. Not one behind a
/// gate: a login that comes back while the gate is locked would wait for it, and its code is good for
/// some seconds only.
public struct PendingLoginPlace: Sendable {
  private let container: AnySessionContainer<PendingLogin>
  private let identifier: String

  /// Names the place; reads nothing.
  ///
  /// - Parameters:
  ///   - container: Where it is kept.
  ///   - identifier: Its name there. A login that begins takes the place of an older one.
  public init(
    _ container: some SessionContainer<PendingLogin>, identifier: String = "pending-login"
  ) {
    self.container = AnySessionContainer(container)
    self.identifier = identifier
  }

  /// What is pending; `nil` when nothing is.
  func login() async throws -> PendingLogin? {
    try await container.asyncLoadItem(forIdentifier: identifier)
  }

  func keep(_ login: PendingLogin) async throws {
    try await container.asyncStoreItem(login, forIdentifier: identifier)
  }

  /// Removes a login, unless another has taken its place.
  ///
  /// Done to its end though the task is cancelled: what is removed cannot be used a second time.
  func remove(_ login: PendingLogin) async throws {
    try await Task {
      guard try await self.login() == login else { return }
      try await container.asyncRemoveItem(forIdentifier: identifier)
    }.value
  }
}
