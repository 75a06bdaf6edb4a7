import Foundation
public import SessionToolsBase

extension PendingLogin {
  /// Where a pending login is stored, so that the program may be restarted meanwhile.
  ///
  /// It is as safe as its container: choose a container on a sealed store or the desktop's keyring.
  /// Do not choose a container behind a gate: a login that returns while the gate is locked would
  /// wait for it, and its code is valid for only some seconds.
  public struct Storage: Sendable {
    private let container: AnySessionContainer<PendingLogin>
    private let identifier: String

    /// Names the item; reads nothing.
    ///
    /// - Parameters:
    ///   - container: The container that stores the login.
    ///   - identifier: The login's name there. A new login replaces an older one.
    public init(
      _ container: some SessionContainer<PendingLogin>, identifier: String = "pending-login"
    ) {
      self.container = AnySessionContainer(container)
      self.identifier = identifier
    }

    /// Returns the pending login, or `nil`.
    func login() async throws -> PendingLogin? {
      try await container.asyncLoadItem(forIdentifier: identifier)
    }

    func keep(_ login: PendingLogin) async throws {
      try await container.asyncStoreItem(login, forIdentifier: identifier)
    }

    /// Removes a login, unless another has replaced it.
    ///
    /// It finishes even if the task is cancelled, so that a removed login cannot be used again.
    func remove(_ login: PendingLogin) async throws {
      try await Task {
        guard try await self.login() == login else { return }
        try await container.asyncRemoveItem(forIdentifier: identifier)
      }.value
    }
  }
}
