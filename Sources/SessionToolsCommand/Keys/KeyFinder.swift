import Foundation
import SealedStore
import SessionTools
import SessionToolsBase

/// The search for the key that opens a store.
///
/// The order: the key that the options name; the file that `SESSION_TOOLS_KEY_FILE` names; the file
/// that `init` made; the key in the Secret Service that a slot names, or in an app's sandbox the
/// app's secret; the key that `unlock` gave to the agent; on a terminal, the security key of a slot
/// if it is plugged in, and a passphrase that is asked for.
struct KeyFinder {
  let path: String
  /// The key that the command line names.
  let argument: KeyArgument?
  let interaction: InteractionOptions
  /// What the names of the options for the key begin with.
  var optionStart = "--"

  private var keys: KeySearch {
    KeySearch(
      store: path, argument: argument, interaction: interaction, optionStart: optionStart
    ) { () throws(StoreError) in
      try SealedFileStore.keySlots(at: path)
    }
  }

  /// Opens the store with the first key in the order, and also returns the key.
  ///
  /// If a key was named and does not open the store, that is an error. The file that `init` made
  /// and a key in the keyring give way to the agent and to a passphrase, because the store's slots
  /// may have been changed since, and a keyring may be locked.
  ///
  /// - Throws: As `SealedFileStore.open`, and `keyMissing` if there is no key.
  func open(
    _ storeOptions: SealedFileStore.Options
  ) throws -> (open: OpenStore<SealedFileStore>, key: any KeySource) {
    try search(asksAgent: true) { key throws(StoreError) in
      let source = try key.source(waitingAtMost: storeOptions.lockTimeout)
      let store = try SealedFileStore.open(at: path, key: source, options: storeOptions)
      return (OpenStore(store: store, keyName: key.name, keyPlace: key.place), source)
    }
  }

  /// Returns the key of the slot that the first key in the order opens, without asking the agent.
  ///
  /// - Throws: As ``open(_:)``.
  func openingKey(
    waitingAtMost timeout: Duration
  ) throws -> (store: StoreIdentifier, key: WrappingKey) {
    try search(asksAgent: false) { key throws(StoreError) in
      try SealedFileStore.openingKey(at: path, from: try key.source(waitingAtMost: timeout))
    }
  }

  /// Returns the fingerprint of the store, which the first key in the order opens; reads the header
  /// alone.
  ///
  /// - Throws: As ``open(_:)``.
  func fingerprint(waitingAtMost timeout: Duration) throws -> StoreFingerprint {
    try search(asksAgent: true) { key throws(StoreError) in
      try SealedFileStore.fingerprint(
        at: path, openedWith: try key.source(waitingAtMost: timeout))
    }
  }

  private func search<Found>(
    asksAgent: Bool, _ open: (ChosenKey) throws(StoreError) -> Found
  ) throws -> Found {
    if let found = try keys.openNamed(open) { return found }
    let slots = try SealedFileStore.keySlots(at: path)
    var refusals: [KeySearch.Refusal] = []
    if let key = try defaultKey(slots) {
      switch keys.outcome(of: open, with: key) {
      case .success(let found): return found
      case .failure(let error):
        guard key.givesWay(after: error) else { throw error }
        refusals.append(KeySearch.Refusal(keyName: key.name, error: error))
      }
    }
    if asksAgent, let found = try openWithAgent(open) { return found }
    return try keys.openAtTerminal(slots, after: refusals, open) {
      keyMissing(slots, mayUnlock: asksAgent)
    }
  }

  /// Opens the store with the key that the agent keeps for it; `nil` if it keeps no key that does.
  private func openWithAgent<Found>(
    _ open: (ChosenKey) throws(StoreError) -> Found
  ) throws(StoreError) -> Found? {
    let key = AgentKey(forStoreAt: path)
    do throws(StoreError) {
      guard try key.keptKey() != nil else { return nil }
    } catch {
      // An agent that fails must not keep a person from typing the passphrase.
      StandardError.complain("\(error)")
      return nil
    }
    let kept = ChosenKey(key, name: "the key kept by unlock", place: nil)
    switch keys.outcome(of: open, with: kept) {
    case .success(let found): return found
    // Its time ended just now.
    case .failure(let error) where error.code == .locked: return nil
    // Its slot was changed or removed since, so that it opens nothing any more.
    case .failure(let error) where error.code == .wrongKey:
      StandardError.say("The key kept by unlock no longer opens \(path), and is forgotten.")
      _ = try? KeyAgent().ask(.forget(SealedFileStore.storeIdentifier(at: path)))
      return nil
    case .failure(let error): throw error
    }
  }

  private func defaultKey(_ slots: [KeySlot]) throws -> ChosenKey? {
    if slots.contains(where: \.isRawKey) {
      let file = try KeyFile.standard(forStore: SealedFileStore.identifier(at: path))
      if Files.exists(file.path) {
        return ChosenKey(file, name: "the key file \(file.path)", place: file.path)
      }
    }
    if let key = slots.lazy.compactMap(\.serviceKey).first {
      return try KeyArgument.secretService(key).choose(keys.prompt)
    }
    guard slots.contains(where: \.isOfSandboxedApp) else { return nil }
    return ChosenKey(PortalKey(), name: "the app's secret", place: nil)
  }

  private func keyMissing(_ slots: [KeySlot], mayUnlock: Bool) -> StoreError {
    var remedies = KeySearch.remedies(for: slots, start: optionStart)
    var reason = "no key was given"
    // Without an identifier, the error that follows says what is wrong with the store.
    if slots.contains(where: \.isRawKey),
      let file = try? KeyFile.standard(forStore: SealedFileStore.identifier(at: path)).path
    {
      reason += ", and there is no key file where init puts one, \(file)"
      remedies.append("put that file back from a backup, if the key was in it")
    }
    if mayUnlock, slots.contains(where: \.isPassphrase) {
      remedies.append("first run session-tools unlock \(path.shellQuoted) on a terminal")
    }
    return StoreError(
      .keyMissing, store: path, reason: reason,
      remedy: "Give " + (remedies.isEmpty ? "its key" : remedies.joined(separator: ", or ")))
  }
}

extension ChosenKey {
  /// Returns the source, which waits for the keyring no longer than for other writers.
  ///
  /// - Throws: `unavailable` if the library for the keyring is not installed.
  func source(waitingAtMost timeout: Duration) throws(StoreError) -> any KeySource {
    if source is PortalKey {
      try SharedLibrary.gio.check()
      return PortalKey(timeout: timeout)
    }
    guard let key = source as? SecretServiceKey else { return source }
    try SharedLibrary.secret.check()
    var options = SecretServiceStore.Options()
    options.timeout = timeout
    return key.with(options)
  }

  /// Returns whether a passphrase may be asked for instead, after an error.
  fileprivate func givesWay(after error: StoreError) -> Bool {
    error.code == .wrongKey || source is SecretServiceKey || source is PortalKey
  }
}
