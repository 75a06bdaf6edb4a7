package import SealedStore
package import SessionToolsBase

/// A store with key slots, wherever its header is.
package protocol SlottedStore {
  /// The store, as messages name it.
  var name: String { get }

  func keySlots() throws(StoreError) -> [KeySlot]

  func fingerprint() throws(StoreError) -> StoreFingerprint

  func revoke(
    keeping sources: [any KeySource], recipients: [Recipient],
    progress: SealedFileStore.Progress?, confirm: (SealedFileStore.RevocationPlan) -> Bool
  ) throws(StoreError) -> Bool
}

extension SealedFileStore: SlottedStore {
  package var name: String { path }
}

extension SlottedStore {
  /// Returns what a revocation would keep and drop, without making it.
  ///
  /// - Throws: As revoking.
  package func revocationPlan(
    keeping sources: [any KeySource], recipients: [Recipient] = []
  ) throws(StoreError) -> SealedFileStore.RevocationPlan {
    var found: SealedFileStore.RevocationPlan?
    _ = try revoke(keeping: sources, recipients: recipients, progress: nil) { plan in
      found = plan
      return false
    }
    guard let found else { preconditionFailure("a revocation reports its plan or throws") }
    return found
  }

  /// Refuses a new key that opens a slot already, because removing one of its two slots would shut
  /// no one out.
  ///
  /// - Parameters:
  ///   - key: The maker of the new slot.
  ///   - argument: The store, as the command line named it.
  ///   - changed: The number of the slot that gets the key, if it is not a new one.
  /// - Throws: `alreadyExists`, before anything is written.
  package func refuse(
    _ key: any SlotMaker, argument: String, changing changed: Int? = nil
  ) throws(StoreError) {
    let opened: KeySlot?
    do throws(StoreError) {
      opened =
        if key is PluggedInKey {
          try PluggedInKey.slot(among: keySlots())
        } else {
          try revocationPlan(
            keeping: [key as? any KeySource].compactMap(\.self),
            recipients: [key as? Recipient].compactMap(\.self)
          ).kept.first
        }
    } catch {
      // It opens no slot, or cannot be read, which adding it reports.
      return
    }
    guard let slot = opened, slot.number != changed else { return }
    let command = changed == nil ? "change" : "remove"
    throw StoreError(
      .alreadyExists, store: name, reason: "this key opens slot \(slot.number) already",
      remedy: "Give another key, or run \(ToolName.current) slots \(command) "
        + "\(argument.shellQuoted) \(slot.number) to \(command) that slot")
  }
}
