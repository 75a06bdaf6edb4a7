import Foundation
import SealedStore
import SessionTools
import SessionToolsBase

/// The part of a search for a key that is the same for stores of all kinds: the key that the
/// options name, the file that `SESSION_TOOLS_KEY_FILE` names, and on the terminal a security key
/// that is plugged in, or a passphrase.
struct KeySearch {
  static let environmentVariable = "SESSION_TOOLS_KEY_FILE"
  /// How often a person may type a passphrase.
  private static let maximumAttemptCount = 3

  /// The store, as messages and questions name it.
  private let store: String
  /// The key that the command line names.
  private let argument: KeyArgument?
  let interaction: InteractionOptions
  /// What the names of the options for the key begin with.
  private let optionStart: String
  /// Reads the slots of the store.
  private let slots: () throws(StoreError) -> [KeySlot]

  init(
    store: String, argument: KeyArgument?, interaction: InteractionOptions, optionStart: String,
    slots: @escaping () throws(StoreError) -> [KeySlot]
  ) {
    self.store = store
    self.argument = argument
    self.interaction = interaction
    self.optionStart = optionStart
    self.slots = slots
  }

  var prompt: PassphrasePrompt {
    PassphrasePrompt(path: store, interaction: interaction, optionStart: optionStart)
  }

  /// The key file that the environment names.
  static var keyFileOfEnvironment: String? {
    guard let path = ProcessInfo.processInfo.environment[environmentVariable], !path.isEmpty
    else { return nil }
    return path
  }

  /// Opens the store with the key that the options or the environment name; `nil` if neither names
  /// one.
  ///
  /// - Throws: `wrongKey` if the key does not open the store, and what the closure throws.
  func openNamed<Found>(
    _ open: (ChosenKey) throws(StoreError) -> Found
  ) throws -> Found? {
    if case .passphrasePrompt? = argument { return try openAsking(open) }
    if let argument { return try attempt(open, with: argument.choose(prompt)) }
    guard let path = Self.keyFileOfEnvironment else { return nil }
    let key = ChosenKey(
      KeyFile(path), name: "the key file \(path) (\(Self.environmentVariable))", place: path)
    switch outcome(of: open, with: key) {
    case .success(let found): return found
    case .failure(let error) where error.code == .wrongKey:
      // It may be meant for another store of the command.
      throw error.advising("Name this store's key with \(optionStart)key-file or another option")
    case .failure(let error): throw error
    }
  }

  /// A key that does not open the store, and why.
  struct Refusal {
    let keyName: String
    let error: StoreError
  }

  private static let securityKeyName = "the security key"

  /// The errors of a security key that does not open the store; others are of the store.
  private static let securityKeyErrors: Set<StoreError.Code> = [
    .wrongKey, .keyBlocked, .invalidKey, .promptDismissed, .timedOut, .unavailable, .accessDenied,
  ]

  /// Opens the store with what a person at the terminal has: a security key that is plugged in,
  /// otherwise a passphrase.
  ///
  /// A security key that does not open the store does not keep a person from typing the passphrase.
  ///
  /// - Parameters:
  ///   - slots: The slots of the store.
  ///   - earlier: The keys that did not open it before.
  ///   - open: Opens the store with a key.
  ///   - missing: Returns the error if there is no key at all.
  /// - Returns: What the closure returns.
  /// - Throws: As ``openNamed(_:)``, `promptDismissed`, and the error of the last key tried.
  func openAtTerminal<Found>(
    _ slots: [KeySlot], after earlier: [Refusal] = [],
    _ open: (ChosenKey) throws(StoreError) -> Found, ifMissing missing: () -> StoreError
  ) throws -> Found {
    var refusals = earlier
    do throws(StoreError) {
      if let found = try openWithSecurityKey(slots, open) { return found }
    } catch {
      guard Self.securityKeyErrors.contains(error.code) else { throw error }
      refusals.append(Refusal(keyName: Self.securityKeyName, error: error))
    }
    let mayAsk = slots.contains(where: \.isPassphrase) && interaction.canAsk
    // What a person tried last is reported last.
    let last = mayAsk ? nil : refusals.popLast()
    for refusal in refusals {
      StandardError.say("\(refusal.keyName) does not open \(store): \(refusal.error.reason)")
    }
    guard mayAsk else { throw last?.error ?? missing() }
    return try openAsking(open)
  }

  /// Opens the store with the security keys that are plugged in; `nil` if none is that has a slot,
  /// or no person is there.
  private func openWithSecurityKey<Found>(
    _ slots: [KeySlot], _ open: (ChosenKey) throws(StoreError) -> Found
  ) throws(StoreError) -> Found? {
    guard slots.contains(where: \.isSecurityKey), interaction.canAsk else { return nil }
    try SharedLibrary.fido2.check()
    let key = ChosenKey(PluggedInKey(prompt), name: Self.securityKeyName, place: nil)
    switch outcome(of: open, with: key) {
    case .success(let found): return found
    case .failure(let error) where error.code == .keyMissing: return nil
    case .failure(let error): throw error
    }
  }

  /// Asks for a passphrase until one opens the store, three times at most.
  ///
  /// - Throws: As ``openNamed(_:)``, and `promptDismissed`.
  func openAsking<Found>(
    _ open: (ChosenKey) throws(StoreError) -> Found
  ) throws -> Found {
    // What follows a wrong passphrase in a script's input is not another one.
    var triesLeft = StandardInput.isTerminal ? Self.maximumAttemptCount : 1
    while true {
      let key = try KeyArgument.passphrasePrompt.choose(prompt)
      triesLeft -= 1
      switch outcome(of: open, with: key) {
      case .success(let found): return found
      case .failure(let error):
        guard error.code == .wrongKey, triesLeft > 0 else { throw error }
        StandardError.say("The passphrase does not open \(store). Try again.")
      }
    }
  }

  /// Opens the store with a key.
  func outcome<Found>(
    of open: (ChosenKey) throws(StoreError) -> Found, with key: ChosenKey
  ) -> Result<Found, StoreError> {
    do throws(StoreError) {
      return .success(try attempt(open, with: key))
    } catch {
      return .failure(error)
    }
  }

  private func attempt<Found>(
    _ open: (ChosenKey) throws(StoreError) -> Found, with key: ChosenKey
  ) throws(StoreError) -> Found {
    do throws(StoreError) {
      return try open(key)
    } catch let error where error.code == .wrongKey && error.underlying == nil {
      // Not of the key itself, such as a token with a PIN, which says more. Where no slot is for
      // it, the key was not even read.
      let isForNoSlot = if case .otherKindOfKey? = error.detail { true } else { false }
      throw StoreError(
        .wrongKey, store: store,
        reason: isForNoSlot
          ? "no slot of it is for \(key.name)" : "\(key.name) does not open it",
        remedy: onlyWayToOpen ?? error.remedy)
    }
  }

  /// What opens a store with a single key slot, about which a list of slots says no more.
  private var onlyWayToOpen: String? {
    guard let slots = try? slots(), slots.count == 1 else { return nil }
    return switch slots[0].parameters {
    case .passphrase: "Only the passphrase that was chosen for it opens it"
    case .rawKey: "Only the key that it was made with opens it"
    case .namedKey(let reference) where ReferencedKey(reference) == .keyring:
      "Only the key \(reference) opens it"
    case .namedKey: "Only this opens it: \(slots[0].means)"
    case nil: nil
    }
  }

  /// Returns the options that name a key for one of some slots.
  ///
  /// - Parameters:
  ///   - slots: The slots.
  ///   - start: What the options begin with, as those of a migration do.
  /// - Returns: Alternatives, in words.
  static func remedies(for slots: [KeySlot], start: String = "--") -> [String] {
    var remedies: [String] = []
    if slots.contains(where: \.isRawKey) {
      remedies.append("\(start)key-file or \(start)credential")
    }
    if slots.contains(where: { $0.serviceKey != nil }) { remedies.append("\(start)key") }
    if slots.contains(where: \.isSecurityKey) {
      remedies.append("its security key, plugged in, on a terminal")
    }
    if slots.contains(where: \.isRecipient) { remedies.append("\(start)recipient-key") }
    if slots.contains(where: \.isPassphrase) {
      remedies.append("\(start)passphrase-file or \(start)passphrase-fd")
    }
    return remedies
  }
}

extension KeySlot {
  /// Whether a key file or a credential may open it.
  var isRawKey: Bool {
    if case .rawKey = parameters { true } else { false }
  }

  /// Whether a security key opens it.
  var isSecurityKey: Bool { parameters.flatMap(SecurityKeySlot.init) != nil }

  /// Whether it is sealed to a recipient.
  var isRecipient: Bool { parameters.flatMap(RecipientSlot.init) != nil }

  /// The key in the Secret Service that opens it.
  var serviceKey: SecretServiceKey? {
    guard case .namedKey(let reference) = parameters else { return nil }
    return SecretServiceKey(reference: reference)
  }

  /// Whether the secret of a sandboxed app opens it.
  var isOfSandboxedApp: Bool { parameters.flatMap { PortalSlot($0) } != nil }

  /// Whether a passphrase may open it.
  var isPassphrase: Bool {
    if case .passphrase = parameters { true } else { false }
  }
}
