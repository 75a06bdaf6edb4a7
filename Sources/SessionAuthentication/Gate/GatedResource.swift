public import SessionToolsBase

/// A resource that is in memory only while a gate is open, such as the keys of a store.
public struct GatedResource: Sendable {
  /// Wipes it; called by the thread that locks the gate, and also when it is wiped already.
  let lock: @Sendable () -> Void
  /// Restores it; called after an authentication, before anything is notified of it.
  let unlock: @Sendable () async throws -> Void

  /// Describes a resource.
  ///
  /// - Parameters:
  ///   - lock: Wipes it. It must be quick, because the machine may wait for it before it sleeps,
  ///     and it may be called from several threads.
  ///   - unlock: Restores it; if it throws, the gate stays locked and reports `unlockFailed`.
  public init(
    lock: @escaping @Sendable () -> Void, unlock: @escaping @Sendable () async throws -> Void
  ) {
    self.lock = lock
    self.unlock = unlock
  }

  /// Makes a resource of the keys of a store.
  ///
  /// If the program can get the key by itself, this keeps the keys out of memory while the gate is
  /// locked, and nothing more. With ``PassphraseAuthenticator``, which opens the store itself,
  /// leave `unlock` out: then the keys cannot be had without the passphrase.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - unlock: Opens the store again, if the authenticator does not.
  /// - Returns: The resource to attach.
  public static func keys(
    of store: some LockableSecretStore, unlock: @escaping @Sendable () async throws -> Void = {}
  ) -> GatedResource {
    GatedResource(lock: { store.lock() }, unlock: unlock)
  }
}
