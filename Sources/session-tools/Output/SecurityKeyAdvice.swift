import SealedStore
import SessionToolsBase
import ToolBase

/// What a person should know about a store that a security key opens.
enum SecurityKeyAdvice {
  /// Writes that a lost key loses the store, or that another slot is easier to open.
  static func say(about store: SealedFileStore) {
    // A store that cannot be read reports the reason when it is used.
    guard let slots = try? store.keySlots(), slots.contains(where: \.isOfSecurityKey) else {
      return
    }
    if slots.allSatisfy(\.isOfSecurityKey), slots.count == 1 {
      StandardError.say(
        "Nothing else opens the store: who loses the security key loses it. Add a slot with "
          + remedy(for: store.path))
    }
    for slot in slots where StoreProtection(sealedFor: [slot]).isEasierThanSecurityKey {
      StandardError.say(
        "Slot \(slot.number) (\(slot.means)) opens the store without the security key: the easiest "
          + "slot decides what protects it")
    }
  }

  /// Returns the command that adds a slot for the day when the key is lost.
  static func remedy(for path: String) -> String {
    "session-tools slots add \(path.shellQuoted) --new-passphrase"
  }
}

extension StoreProtection {
  /// Whether someone with the disk needs less than a passphrase or a device.
  fileprivate var isEasierThanSecurityKey: Bool { atRest.map { $0 < .passphrase } ?? false }
}
