package import SecretStores

/// The key slots of a header while they are changed, with the checks that keep a store openable.
package struct SlotList {
  package private(set) var records: [SlotRecord]
  private let wrapping: KeyWrapping
  private let store: String
  private let command: @Sendable (String) -> String
  private let forged: @Sendable () -> StoreError

  /// - Parameters:
  ///   - records: The slots of a header.
  ///   - wrapping: The wrapping of the keys in that header.
  ///   - store: The store as a person would name it.
  ///   - command: Returns the command line that does something with the slots, such as `list`.
  ///   - forged: The error for a slot whose commitment is right and that does not open.
  package init(
    _ records: [SlotRecord], wrapping: KeyWrapping, store: String,
    command: @escaping @Sendable (String) -> String, forged: @escaping @Sendable () -> StoreError
  ) {
    self.records = records
    self.wrapping = wrapping
    self.store = store
    self.command = command
    self.forged = forged
  }

  /// The slots as they are listed without a key.
  package var keySlots: [KeySlot] {
    records.enumerated().map { KeySlot(number: $0 + 1, parameters: $1.parameters) }
  }

  /// Returns the number that a slot has now, after changes by other processes.
  ///
  /// - Parameters:
  ///   - number: The number that it had.
  ///   - listed: The slots at that time.
  /// - Returns: The number now.
  /// - Throws: `invalidKey` when it was removed or changed.
  package func number(of number: Int, in listed: [SlotRecord]) throws(StoreError) -> Int {
    // A number that was never listed is reported with the slots that there are.
    guard 1...listed.count ~= number else { return number }
    guard let place = records.firstIndex(of: listed[number - 1]) else {
      throw error(
        .invalidKey, "key slot \(number) was removed or changed since the slots were listed",
        remedy: "List them again with \(command("list"))")
    }
    return place + 1
  }

  // MARK: - Changing

  /// Adds a slot with the store key in it.
  ///
  /// - Throws: `invalidKey` when there are 16 slots already, or the passphrase slots would cost
  ///   more than the maker allows as a source; `invalidName` when a label or reference is too long.
  package mutating func add(
    _ slot: (parameters: KeySlot.Parameters, key: WrappingKey), from maker: some SlotMaker,
    wrapping storeKey: KeyBytes, random: any RandomSource
  ) throws(StoreError) {
    guard records.count < KeySlot.maximumCount else {
      throw StoreError(
        .invalidKey, store: store,
        reason: "the store has \(KeySlot.maximumCount) key slots already",
        remedy: "Remove one first, with \(command("remove"))")
    }
    try checkCost(of: slot.parameters, beside: records, from: maker)
    records.append(try wrap(storeKey, in: slot, random))
  }

  /// Replaces the key of a slot.
  ///
  /// - Throws: `invalidKey` when there is no such slot, or as `add`.
  package mutating func change(
    _ number: Int, to slot: (parameters: KeySlot.Parameters, key: WrappingKey),
    from maker: some SlotMaker, wrapping storeKey: KeyBytes, random: any RandomSource
  ) throws(StoreError) {
    try check(number)
    var others = records
    others.remove(at: number - 1)
    try checkCost(of: slot.parameters, beside: others, from: maker)
    records[number - 1] = try wrap(storeKey, in: slot, random)
  }

  /// Removes a slot.
  ///
  /// - Throws: `invalidKey` when there is no such slot, or it is the last one.
  package mutating func remove(_ number: Int) throws(StoreError) {
    try check(number)
    guard records.count > 1 else {
      throw StoreError(
        .invalidKey, store: store, reason: "this is the store's last key slot",
        remedy: "Add another one first, with \(command("add"))")
    }
    records.remove(at: number - 1)
  }

  /// Keeps the slots of some keys, with a new store key in them, and drops all others.
  ///
  /// - Throws: As ``GivenKeys/rewrap(_:in:random:)``.
  package mutating func revoke(
    keeping given: GivenKeys, random: any RandomSource, confirm: (RevocationPlan) -> Bool
  ) throws(StoreError) -> Revocation {
    guard given.haveAnswered(for: self) else { return .slotsWereAdded(self) }
    let storeKey = try KeyBytes()
    random.fill(storeKey)
    let kept = try given.rewrap(storeKey, in: self, random: random)
    guard confirm(RevocationPlan(keySlots, keeping: Set(kept.keys))) else { return .notConfirmed }
    records = kept.sorted { $0.key < $1.key }.map(\.value)
    return .revoked(storeKey)
  }

  private func check(_ number: Int) throws(StoreError) {
    guard 1...records.count ~= number else {
      throw StoreError(
        .invalidKey, store: store,
        reason: "there is no key slot \(number); there are \(records.count)",
        remedy: "List them with \(command("list"))")
    }
  }

  /// Refuses a slot that would not be tried after all the others.
  private func checkCost(
    of slot: KeySlot.Parameters, beside others: [SlotRecord], from maker: some SlotMaker
  ) throws(StoreError) {
    // What only makes slots opens none, so none costs it anything.
    guard let source = maker as? any KeySource else { return }
    let tried = others.compactMap(\.parameters).filter { other in
      // A slot that is refused by itself is not tried, and costs nothing.
      (try? source.checkCost(of: [other])) != nil
    }
    do throws(StoreError) {
      try source.checkCost(of: tried + [slot])
    } catch let error where error.code == .invalidKey {
      throw StoreError(
        .invalidKey, store: store, reason: error.reason,
        remedy: "Remove a passphrase slot first, or give the new one a lower cost")
    }
  }

  // MARK: - Wrapping

  /// Returns a new slot with the store key in it.
  ///
  /// - Throws: `invalidName` when a label or reference is too long.
  func wrap(
    _ storeKey: KeyBytes, in slot: (parameters: KeySlot.Parameters, key: WrappingKey),
    _ random: any RandomSource
  ) throws(StoreError) -> SlotRecord {
    wrapping.wrap(storeKey, in: try SlotHead(slot.parameters), with: slot.key, random: random)
  }

  /// Returns a slot with another store key in it.
  func rewrapped(
    _ slot: SlotRecord, _ storeKey: KeyBytes, with key: WrappingKey, random: any RandomSource
  ) -> SlotRecord {
    wrapping.wrap(storeKey, in: slot.head, with: key, random: random)
  }

  /// Returns whether a slot is for a key.
  ///
  /// - Throws: The error for a forged slot, and `unavailable` when the system gives no memory.
  func opens(_ slot: SlotRecord, with key: WrappingKey) throws(StoreError) -> Bool {
    try wrapping.unwrapStoreKey(in: slot, with: key, orThrow: forged()) != nil
  }

  /// Returns the error of a source that a revocation asked for a slot, with what to do about it.
  func revocationError(_ error: StoreError, at slot: KeySlot) -> StoreError {
    guard error.isOfSlot else { return error }
    let remedy =
      error.code == .cancelled
      ? "Nothing was changed"
      : "Nothing was changed; to shut out the key of this slot, first remove the slot with "
        + "\(command("remove")) \(slot.number)"
    return error.inSlot(slot, of: store, remedy: remedy)
  }

  /// Returns the error for keys or slots that do not allow what was asked for.
  func error(
    _ code: StoreError.Code, _ reason: String, remedy: String
  ) -> StoreError {
    StoreError(code, store: store, reason: reason, remedy: remedy)
  }
}
