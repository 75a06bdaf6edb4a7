import SealedStore
import SessionToolsBase

/// The protection of a store, in one line.
enum Protection {
  /// Writes how a sealed store is protected, and where its key is.
  static func say(of store: some SlotChanging, keyPlace: String?) {
    // A store that does not know reports the reason when it is used.
    guard let protection = try? store.protection() else { return }
    let place = keyPlace.map { "; key in \($0)" } ?? ""
    StandardError.say("\(store.name): \(protection)\(place)")
  }

  /// Writes what a person should know about a store with a new or changed slot: its fingerprint,
  /// how it is protected, and what the slots mean for each other.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - keyPlace: The file the slot's key is in, if it is in one.
  ///   - words: How a command line names the store.
  /// - Throws: As `KnownStores.announce(_:)`.
  static func announce(
    _ store: some SlotChanging, keyPlace: String?, _ words: String
  ) throws {
    try KnownStores.announce(store)
    say(of: store, keyPlace: keyPlace)
    SecurityKeyAdvice.say(about: store, words)
  }
}

/// What a person should know about a store that a security key opens.
private enum SecurityKeyAdvice {
  /// Writes that a lost key loses the store, or that another slot is easier to open.
  ///
  /// - Parameters:
  ///   - store: The store.
  ///   - words: How a command line names it.
  static func say(about store: some SlotChanging, _ words: String) {
    // A store that cannot be read reports the reason when it is used.
    guard let slots = try? store.keySlots(), slots.contains(where: \.isSecurityKey) else {
      return
    }
    if slots.allSatisfy(\.isSecurityKey), slots.count == 1 {
      StandardError.say(
        "Nothing else opens the store: who loses the security key loses it. Add a second slot: "
          + "session-tools recipient create FILE, which is kept offline, and session-tools slots "
          + "add \(words) --new-recipient with the line that it prints")
    }
    for slot in slots where StoreProtection(sealedFor: [slot]).isEasierThanSecurityKey {
      StandardError.say(
        "Slot \(slot.number) (\(slot.means)) opens the store without the security key: the easiest "
          + "slot decides what protects it")
    }
  }
}

extension StoreProtection {
  /// Whether someone with the disk needs less than a passphrase or a device.
  fileprivate var isEasierThanSecurityKey: Bool { atRest.map { $0 < .passphrase } ?? false }
}
