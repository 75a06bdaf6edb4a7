import Foundation
import SealedStore
import SessionTools
import SessionToolsBase

/// The search for the key that opens a store.
///
/// The order: the key that the options name; the file that `SESSION_TOOLS_KEY_FILE` names; the file
/// that `init` made; the key in the Secret Service that a slot names; a passphrase asked for on
/// the terminal.
struct KeyFinder {
  static let environmentVariable = "SESSION_TOOLS_KEY_FILE"

  let path: String
  /// The key that the command line names.
  let argument: KeyArgument?
  let interaction: InteractionOptions

  private var prompt: PassphrasePrompt { PassphrasePrompt(path: path, interaction: interaction) }

  /// The key file that the environment names.
  static var keyFileOfEnvironment: String? {
    guard let path = ProcessInfo.processInfo.environment[environmentVariable], !path.isEmpty
    else { return nil }
    return path
  }

  /// Opens the store with the first key in the order, and also returns the key.
  ///
  /// If a key was named and does not open the store, that is an error. The file that `init` made
  /// and a key in the Secret Service give way to a passphrase, because the store's slots may have
  /// been changed since, and a keyring may be locked.
  ///
  /// - Throws: As `SealedFileStore.open`, and `keyMissing` if there is no key.
  func open(
    _ storeOptions: SealedFileStore.Options
  ) throws -> (open: OpenStore, key: any KeySource) {
    if let key = try namedKey() { return try open(with: key, storeOptions) }
    let slots = try SealedFileStore.keySlots(at: path)
    let hasPassphrase = slots.contains(where: \.isPassphrase)
    if let key = try defaultKey(slots) {
      let opened = Result { () throws(StoreError) in try open(with: key, storeOptions) }
      guard case .failure(let error) = opened, key.givesWay(after: error), hasPassphrase,
        interaction.canAsk
      else { return try opened.get() }
      StandardError.say("\(key.name) does not open \(path): \(error.reason)")
    }
    guard hasPassphrase, interaction.canAsk else { throw keyMissing(slots) }
    return try open(with: try KeyArgument.passphrasePrompt.choose(prompt), storeOptions)
  }

  /// Returns the key that the options or the environment name.
  func namedKey() throws -> ChosenKey? {
    if let argument { return try argument.choose(prompt) }
    guard let path = Self.keyFileOfEnvironment else { return nil }
    return ChosenKey(
      KeyFile(path), name: "the key file \(path) (\(Self.environmentVariable))", place: path)
  }

  private func defaultKey(_ slots: [KeySlot]) throws -> ChosenKey? {
    let file = KeyFile.standard(forStore: try SealedFileStore.identifier(at: path))
    if slots.contains(where: \.isRawKey), Files.exists(file.path) {
      return ChosenKey(file, name: "the key file \(file.path)", place: file.path)
    }
    guard let key = slots.lazy.compactMap(\.serviceKey).first else { return nil }
    return try KeyArgument.secretService(key).choose(prompt)
  }

  private func open(
    with key: ChosenKey, _ options: SealedFileStore.Options
  ) throws(StoreError) -> (open: OpenStore, key: any KeySource) {
    let source = key.source(waitingAtMost: options.lockTimeout)
    do throws(StoreError) {
      let store = try SealedFileStore.open(at: path, key: source, options: options)
      return (OpenStore(store: store, keyName: key.name, keyPlace: key.place), source)
    } catch let error where error.code == .wrongKey {
      throw StoreError(
        .wrongKey, store: path, reason: "\(key.name) does not open it",
        remedy: error.remedy)
    }
  }

  private func keyMissing(_ slots: [KeySlot]) -> StoreError {
    var remedies: [String] = []
    if slots.contains(where: \.isRawKey) { remedies.append("--key-file or --credential") }
    if slots.contains(where: { $0.serviceKey != nil }) { remedies.append("--key") }
    if slots.contains(where: \.isPassphrase) {
      remedies.append("--passphrase-file or --passphrase-fd")
    }
    var reason = "no key was given"
    // Without an identifier, the error that follows says what is wrong with the store.
    if slots.contains(where: \.isRawKey),
      let identifier = try? SealedFileStore.identifier(at: path)
    {
      let file = KeyFile.standard(forStore: identifier).path
      reason += ", and the key file \(file) is not there"
      remedies.append("put that file back from a backup, since nothing else opens the store")
    }
    return StoreError(
      .keyMissing, store: path, reason: reason,
      remedy: "Give " + (remedies.isEmpty ? "its key" : remedies.joined(separator: ", or ")))
  }
}

extension KeySlot {
  /// Whether a key file or a credential may open it.
  var isRawKey: Bool {
    if case .rawKey = parameters { true } else { false }
  }

  /// The key in the Secret Service that opens it.
  var serviceKey: SecretServiceKey? {
    guard case .namedKey(let reference) = parameters else { return nil }
    return SecretServiceKey(reference: reference)
  }

  /// Whether a passphrase may open it.
  var isPassphrase: Bool {
    if case .passphrase = parameters { true } else { false }
  }
}

extension ChosenKey {
  /// Returns the source, which waits for the Secret Service no longer than for other writers.
  fileprivate func source(waitingAtMost timeout: Duration) -> any KeySource {
    guard let key = source as? SecretServiceKey else { return source }
    var options = SecretServiceStore.Options()
    options.timeout = timeout
    return key.with(options)
  }

  /// Returns whether a passphrase may be asked for instead, after an error.
  fileprivate func givesWay(after error: StoreError) -> Bool {
    error.code == .wrongKey || source is SecretServiceKey
  }
}
