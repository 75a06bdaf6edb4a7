import SealedStore

/// The check of what opens a store, without its keys.
enum SlotChecks {
  /// Checks that the loss of one thing would not lose the store, and that programs can open it.
  ///
  /// - Parameters:
  ///   - slots: The slots of the store.
  ///   - adding: The command that adds a slot to it, without the key's options.
  /// - Returns: A problem when a security key alone opens it, a note when recipients or keyrings
  ///   alone do.
  static func check(_ slots: [KeySlot], adding: String) -> Check {
    let means = slots.map(\.means).joined(separator: ", or ")
    let addingRecipient =
      "session-tools recipient create FILE, which is kept offline, and "
      + "\(adding) --new-recipient with the line that it prints"
    if slots.count == 1, slots[0].isSecurityKey {
      return .problem(
        "opens with",
        "\(means) alone: if it is lost, broken or reset, everything in the store is lost",
        remedy: addingRecipient)
    }
    // Source: gnome-keyring 50 dropped whole keyrings without a password after a secret with a
    // newline (basecamp/omarchy 11159).
    if slots.allSatisfy({ $0.serviceKey != nil }) {
      return .note(
        "opens with",
        "\(means) alone: if the keyring is reset or damaged, everything in the store is lost",
        remedy: addingRecipient)
    }
    if slots.allSatisfy(\.isRecipient) {
      return .note(
        "opens with", "\(means) alone: programs cannot open it without the recipient's secret key",
        remedy: "\(adding) --recipient-key FILE --new-key-file FILE")
    }
    return .ok("opens with", means)
  }
}
