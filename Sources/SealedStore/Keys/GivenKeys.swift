package import SecretStores

/// The keys of some sources for the slots of a header, fetched before they are needed.
package struct GivenKeys {
  /// The answer of a source for a slot.
  private enum Answer {
    case key(WrappingKey)
    /// A slot that takes the place of the one that was asked for.
    case newSlot(KeySlot.Parameters, WrappingKey)
    case notMine
  }

  private let sources: [any KeySource]
  /// The answers of each source, in the order of the sources.
  private var answers: [[KeySlot.Parameters: Answer]]

  package init(of sources: [any KeySource]) {
    self.sources = sources
    answers = sources.map { _ in [:] }
  }

  /// Asks each source for each slot that it has not been asked for.
  ///
  /// - Throws: The first error of a source: without an answer it is not known whether the slot is
  ///   to be kept, and a mistyped PIN must not shut its key out.
  package mutating func ask(for slots: SlotList) throws(StoreError) {
    for (position, source) in sources.enumerated() {
      for slot in slots.keySlots {
        guard let parameters = slot.parameters, answers[position][parameters] == nil else {
          continue
        }
        do throws(StoreError) {
          answers[position][parameters] = try Self.answer(of: source, for: parameters)
        } catch {
          throw slots.revocationError(error, at: slot)
        }
      }
    }
  }

  private static func answer(
    of source: any KeySource, for slot: KeySlot.Parameters
  ) throws(StoreError) -> Answer {
    if let key = try source.wrappingKey(for: slot) { return .key(key) }
    if let (parameters, key) = try source.renewed(slot) { return .newSlot(parameters, key) }
    return .notMine
  }

  /// Returns whether all sources were asked for all slots of a header.
  package func haveAnswered(for slots: SlotList) -> Bool {
    let slots = slots.records.compactMap(\.parameters)
    return answers.allSatisfy { answers in slots.allSatisfy { answers[$0] != nil } }
  }

  /// Returns the slots that the keys open or that were renewed, by number, with a new store key in
  /// them.
  ///
  /// - Throws: `wrongKey` when a source opens or renews no slot, `invalidKey` when there is no
  ///   source, `corrupt` when a slot is for a key but does not open with it.
  package func rewrap(
    _ storeKey: KeyBytes, in slots: SlotList, random: any RandomSource
  ) throws(StoreError) -> [Int: SlotRecord] {
    var kept: [Int: SlotRecord] = [:]
    for answers in answers {
      var keepsAny = false
      for (position, slot) in slots.records.enumerated() {
        guard let parameters = slot.parameters, let answer = answers[parameters] else { continue }
        switch answer {
        case .key(let key):
          guard try slots.opens(slot, with: key) else { continue }
          kept[position + 1] = slots.rewrapped(slot, storeKey, with: key, random: random)
        case .newSlot(let parameters, let key):
          kept[position + 1] = try slots.wrap(storeKey, in: (parameters, key), random)
        case .notMine: continue
        }
        keepsAny = true
      }
      guard keepsAny else {
        throw slots.error(
          .wrongKey, "a key that should be kept does not open the store",
          remedy: "Give the keys of the slots to keep; nothing was changed")
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
