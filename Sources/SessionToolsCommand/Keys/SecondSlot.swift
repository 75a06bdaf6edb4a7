import SealedStore
import SessionToolsBase

extension SlotChanging {
  /// Refuses a new key that opens a slot already, because removing one of its two slots would shut
  /// no one out.
  ///
  /// - Parameters:
  ///   - key: The maker of the new slot.
  ///   - words: How a command line names the store.
  ///   - changed: The number of the slot that gets the key, if it is not a new one.
  /// - Throws: `alreadyExists`, before anything is written.
  func refuse(
    _ key: any SlotMaker, words: String, changing changed: Int? = nil
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
      remedy: "Give another key, or run session-tools slots \(command) "
        + "\(words) \(slot.number) to \(command) that slot")
  }
}
