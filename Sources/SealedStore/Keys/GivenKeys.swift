import SecretStores

/// The keys that a revocation keeps: those of some sources, fetched before they are needed, and
/// those of some recipients, which it does not have.
package struct GivenKeys {
  private let sources: [any KeySource]
  private let recipients: [Recipient]
  /// What each source has answered for a slot, in the order of the sources.
  private var answers: [[KeySlot.Parameters: WrappingKey?]]

  init(of sources: [any KeySource], _ recipients: [Recipient]) {
    self.sources = sources
    self.recipients = recipients
    answers = sources.map { _ in [:] }
  }

  /// Asks each source for each slot that it has not been asked for.
  ///
  /// - Throws: The first error of a source: without an answer it is not known whether the slot is
  ///   to be kept, and a mistyped PIN must not shut its key out.
  mutating func ask(for slots: SlotList) throws(StoreError) {
    for (position, source) in sources.enumerated() {
      for slot in slots.keySlots {
        guard let parameters = slot.parameters, answers[position][parameters] == nil else {
          continue
        }
        do throws(StoreError) {
          answers[position][parameters] = .some(try source.wrappingKey(for: parameters))
        } catch {
          throw slots.revocationError(error, at: slot)
        }
      }
    }
  }

  /// Returns whether all sources were asked for all slots of a header.
  func haveAnswered(for slots: SlotList) -> Bool {
    let slots = slots.records.compactMap(\.parameters)
    return answers.allSatisfy { answers in slots.allSatisfy { answers[$0] != nil } }
  }

  /// Returns the slots that the keys open, and new ones in the place of those of the recipients, by
  /// number, with a new store key in them.
  ///
  /// - Throws: `wrongKey` when a source opens no slot or a recipient has none, `invalidKey` when
  ///   there is neither, `corrupt` when a slot is for a key but does not open with it.
  func rewrap(
    _ storeKey: KeyBytes, in slots: SlotList, random: any RandomSource
  ) throws(StoreError) -> [Int: SlotRecord] {
    var kept: [Int: SlotRecord] = [:]
    func keep(
      _ rewrapped: (SlotRecord, KeySlot.Parameters) throws(StoreError) -> SlotRecord?
    ) throws(StoreError) {
      var keepsAny = false
      for (position, slot) in slots.records.enumerated() {
        guard let parameters = slot.parameters, let new = try rewrapped(slot, parameters) else {
          continue
        }
        kept[position + 1] = new
        keepsAny = true
      }
      guard keepsAny else {
        throw slots.error(
          .wrongKey, "a key that should be kept does not open the store",
          remedy: "Give the keys of the slots to keep; nothing was changed")
      }
    }
    for answers in answers {
      try keep { slot, parameters throws(StoreError) in
        guard let key = answers[parameters] ?? nil, try slots.opens(slot, with: key) else {
          return nil
        }
        return slots.rewrapped(slot, storeKey, with: key, random: random)
      }
    }
    for recipient in recipients {
      try keep { _, parameters throws(StoreError) in
        guard let new = try recipient.renewed(parameters) else { return nil }
        return try slots.wrap(storeKey, in: new, random)
      }
    }
    guard !kept.isEmpty else {
      throw slots.error(
        .invalidKey, "no key is left that would open the store",
        remedy: "Give the key of at least one slot to keep")
    }
    return kept
  }
}
