import SessionToolsDBus
package import SecretStores

/// The secret that the desktop keeps for a sandboxed app: `org.freedesktop.portal.Secret`.
///
/// An app gets its own secret and no other: the portal identifies it by its sandbox. Programs
/// outside of a sandbox would share one secret.
///
/// The desktop makes the secret when it is first asked for, and keeps it in the keyring
/// (https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Secret.html).
package struct PortalSecret: Sendable {
  /// The name in errors.
  package static let name = "the app's secret from the desktop's portal"
  /// The shortest secret, of 128 bits; gnome-keyring's has 64 bytes.
  private static let minimumByteCount = 16

  private let bus: SessionBus
  private let timeout: Duration

  /// Describes the secret; asks for nothing.
  ///
  /// - Parameters:
  ///   - bus: The session bus.
  ///   - timeout: How long to wait, also for a person who is asked for the keyring's password.
  package init(bus: SessionBus = .current, timeout: Duration) {
    self.bus = bus
    self.timeout = timeout
  }

  /// Returns whether there is a portal that keeps secrets; asks for none.
  ///
  /// - Throws: `timedOut` when the portal does not answer, or `cancelled`.
  package func isProvided() async throws(StoreError) -> Bool {
    let deadline = Deadline(in: timeout)
    do throws(DBusError) {
      let connection = try await bus.connect(until: deadline)
      _ = try await connection.call(
        DBusMethod(
          PortalRequest.name, PortalRequest.path, "org.freedesktop.DBus.Properties", "Get"),
        [.string("org.freedesktop.portal.Secret"), .string("version")], timeout: deadline.left)
      return true
    } catch {
      // A portal without a backend for secrets does not have the interface.
      guard error.kind == .timedOut || error.kind == .cancelled else { return false }
      throw storeError(error)
    }
  }

  /// Asks the portal for the secret, which makes it when it is first asked.
  ///
  /// - Returns: 16 to 4,096 bytes.
  /// - Throws: `promptDismissed`; `unavailable` when there is no portal, or it gives no secret;
  ///   `accessDenied` when it refuses this app;
  ///   `timedOut`, `cancelled`; `invalidKey` for a secret of another length.
  package func retrieve() async throws(StoreError) -> SecretBytes {
    let secret: SecretBytes
    do {
      secret = try await received()
    } catch let error as StoreError {
      throw error
    } catch let error as DBusError {
      throw storeError(error)
    } catch {
      preconditionFailure("no other error is thrown: \(error)")
    }
    guard secret.byteCount >= Self.minimumByteCount else {
      throw invalid("it has \(secret.byteCount) bytes, too few for a key")
    }
    return secret
  }

  /// Reads the secret while the portal is asked for it, and stops both when one of them fails.
  private func received() async throws -> SecretBytes {
    let deadline = Deadline(in: timeout)
    let pipe = try SecretPipe()
    let connection = try await bus.connect(until: deadline)
    return try await withThrowingTaskGroup(of: SecretBytes?.self) { group in
      group.addTask {
        let secret = try await pipe.readToEnd(until: deadline)
        guard secret.byteCount <= SecretPipe.maximumByteCount else {
          throw invalid("it has more than \(SecretPipe.maximumByteCount) bytes")
        }
        return secret
      }
      group.addTask {
        try await ask(over: connection, for: pipe, until: deadline)
        return nil
      }
      var secret: SecretBytes?
      for try await part in group { secret = part ?? secret }
      guard let secret else { preconditionFailure("one of the tasks returns the secret") }
      return secret
    }
  }

  private func ask(
    over connection: DBusConnection, for pipe: SecretPipe, until deadline: Deadline
  ) async throws {
    let request = PortalRequest(
      "Secret", "RetrieveSecret", [.handle(0)],
      sending: [pipe.takeWriter()].compactMap(\.self))
    let response = try await request.response(
      over: connection, timeout: deadline.left, responseTimeout: deadline.left)
    switch response {
    case .done: return
    case .dismissed:
      throw StoreError(
        .promptDismissed, store: Self.name,
        reason: "the question for the keyring's password was dismissed",
        remedy: "Try again, and unlock the keyring")
    case .failed:
      throw StoreError(
        .unavailable, store: Self.name,
        reason: "the portal gave none: the keyring is locked or absent",
        remedy: "Unlock the keyring, or start one, such as gnome-keyring; then try again")
    }
  }

  private func invalid(_ reason: String) -> StoreError {
    StoreError(
      .invalidKey, store: Self.name, reason: reason,
      remedy: "Report this to the makers of the desktop's portal for secrets")
  }

  private func storeError(_ error: DBusError) -> StoreError {
    switch error.kind {
    case .timedOut:
      StoreError(
        .timedOut, store: Self.name, reason: "the portal did not give it in time",
        remedy: "Unlock the keyring, then try again", underlying: error, isTransient: false)
    case .cancelled:
      StoreError(.cancelled, store: Self.name, reason: "the task was cancelled")
    case .remote("org.freedesktop.portal.Error.NotAllowed"):
      StoreError(
        .accessDenied, store: Self.name, reason: "the portal refuses this app: \(error.message)",
        remedy: "Look for the cause in its journal: journalctl --user -u xdg-desktop-portal",
        underlying: error)
    case .disconnected, .remote:
      StoreError(
        .unavailable, store: Self.name, reason: "the portal cannot be used: \(error.message)",
        remedy: "Install xdg-desktop-portal, and a backend for secrets, such as gnome-keyring",
        underlying: error)
    }
  }
}
