public import SecretStores

/// The key of a store that a person unlocked with `session-tools unlock`, kept for a while by an
/// agent of the same user.
///
/// ```swift
/// do {
///   store = try SealedFileStore.open(at: path, key: AgentKey(forStoreAt: path))
/// } catch StoreError.locked {
///   // Ask the person to run session-tools unlock, or ask for the passphrase.
/// }
/// ```
///
/// A program that uses it never sees the passphrase, and does not spend the time that deriving the
/// key takes. It never starts an agent. The key is asked for each time a store is opened or
/// unlocked; a store that is open stays open when the agent forgets its key. It makes no slots: the
/// agent keeps only keys of existing ones.
///
/// A call blocks until the agent answers, and throws `timedOut` after 5 s.
public struct AgentKey: KeySource {
  /// The path of the store.
  public let path: String
  private let agent: KeyAgent

  /// Names the key of a store; does not contact the agent yet.
  public init(forStoreAt path: String) {
    self.init(forStoreAt: path, agent: KeyAgent())
  }

  package init(forStoreAt path: String, agent: KeyAgent) {
    self.path = path
    self.agent = agent
  }

  /// Returns the key that the agent keeps for the store, whatever the slot.
  ///
  /// - Throws: `locked` when there is no agent or it has no key for the store, `timedOut` when it
  ///   does not answer, `unsupportedVersion`, `unsafePermissions` when others can use its
  ///   directory, `accessDenied`, or as ``SealedFileStore/identifier(at:)``.
  public func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard let key = try keptKey() else {
      throw StoreError(
        .locked, store: path, reason: "no agent keeps its key",
        remedy: "Run session-tools unlock \(path.shellQuoted)")
    }
    return key
  }

  /// Accepts the store: the kept key is that of one slot, whose store was checked when it was
  /// unlocked.
  public func checkStore(
    _ fingerprint: StoreFingerprint, named store: String, openedBy slot: KeySlot.Parameters
  ) {}

  /// Returns the key, if the agent keeps it.
  ///
  /// - Throws: As ``wrappingKey(for:)``, but not `locked`.
  package func keptKey() throws(StoreError) -> WrappingKey? {
    let store = try SealedFileStore.storeIdentifier(at: path)
    guard case .key(let key)? = try agent.ask(.get(store)) else { return nil }
    return key
  }
}
