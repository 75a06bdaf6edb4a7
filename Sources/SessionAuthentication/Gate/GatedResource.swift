public import SessionToolsBase

/// Something that is in memory only while a gate is open, such as the keys of a store.
public struct GatedResource: Sendable {
  /// Wipes it; called when the gate locks, by whoever made it lock, and also when it is wiped already.
  let lock: @Sendable () -> Void
  /// Brings it back; called after somebody was authenticated, before anyone hears of it.
  let unlock: @Sendable () async throws -> Void

  /// Describes a resource.
  ///
  /// - Parameters:
  ///   - lock: Wipes it; must be quick, because the machine may wait for it before it sleeps, and
  ///     may be called from several threads.
  ///   - unlock: Brings it back; when it throws, the gate stays locked, and says `unlockFailed`.
  public init(
    lock: @escaping @Sendable () -> Void, unlock: @escaping @Sendable () async throws -> Void
  ) {
    self.lock = lock
    self.unlock = unlock
  }

  /// The keys of a store.
  ///
  /// With a key that the program can get by itself, this keeps the keys out of memory while the gate is
  /// locked, and nothing more. With ``PassphraseAuthenticator``, which opens the store itself, leave
  /// `unlock` out: then nobody without the passphrase has the keys.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - unlock: Opens it again, if the authenticator does not.
  /// - Returns: The resource, to be attached.
  public static func keys(
    of store: some LockableSecretStore, unlock: @escaping @Sendable () async throws -> Void = {}
  ) -> GatedResource {
    GatedResource(lock: { store.lock() }, unlock: unlock)
  }
}
