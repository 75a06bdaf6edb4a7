public import SealedStore
import SecretServiceStore
public import SessionToolsBase

/// The key of a sealed store of a sandboxed app, from a secret that the desktop keeps for the app
/// and gives to no other.
///
/// In a Flatpak or a Snap the Secret Service cannot be reached without a permission. The desktop's
/// portal (`org.freedesktop.portal.Secret`) can, with none. ``KeychainStorageContainer`` uses this
/// key by itself; make one to open the keychain's store, or another one, yourself:
///
/// ```swift
/// let store = try SealedFileStore.open(at: path, key: PortalKey())
/// ```
///
/// The slot has a random salt and not the secret, so a copy of the store alone cannot be read. The
/// secret is in the keyring, under the app's identifier: if the keyring is deleted, or the app gets
/// another identifier, the desktop makes a new secret, and the slot never opens again. Add a second
/// slot, such as a passphrase, to a store that must survive this.
///
/// Calls block their thread while they wait for the desktop, which may ask a person for the
/// keyring's password.
public struct PortalKey: KeySource, SlotMaker {
  private let secret: PortalSecret

  /// Describes the key; asks for nothing yet.
  ///
  /// - Parameter timeout: How long to wait for the desktop, also for a person who is asked for the
  ///   keyring's password; 2 minutes by default.
  public init(timeout: Duration = .seconds(120)) {
    secret = PortalSecret(timeout: timeout)
  }

  /// Returns whether this process is in the sandbox of a Flatpak or a Snap, and the desktop keeps
  /// secrets for apps; asks for none.
  ///
  /// - Throws: `timedOut` when the desktop does not answer.
  public func isAvailable() throws(StoreError) -> Bool {
    guard Sandbox.current != nil else { return false }
    return try BlockingAnswer.wait { () async throws(StoreError) in
      try await secret.isProvided()
    }
  }

  /// Returns the slot's key if the slot is one of a sandboxed app; otherwise `nil`.
  ///
  /// If the slot is of another app, or the app's secret is a new one, the key does not open it.
  ///
  /// - Throws: `keyMissing` outside of a sandbox; `promptDismissed`, `timedOut`, `invalidKey`, or
  ///   `unavailable` when the keyring is locked or there is no portal.
  public func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard let slot = PortalSlot(slot) else { return nil }
    return try key(for: slot)
  }

  /// Returns a new slot with a random salt, and its key; the desktop makes the app's secret when it
  /// is first asked for it.
  ///
  /// - Throws: As ``wrappingKey(for:)``.
  public func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    let slot = PortalSlot()
    return (slot.parameters, try key(for: slot))
  }

  private func key(for slot: PortalSlot) throws(StoreError) -> WrappingKey {
    // All programs outside of a sandbox would get one secret.
    guard Sandbox.current != nil else {
      throw StoreError(
        .keyMissing, store: PortalSecret.name,
        reason: "only a program in the app's sandbox gets it",
        remedy: "Start the program there, with Flatpak by flatpak run --command=PROGRAM APP, or "
          + "open the store with the key of another slot")
    }
    return try slot.wrappingKey(
      from: BlockingAnswer.wait { () async throws(StoreError) in try await secret.retrieve() })
  }
}
