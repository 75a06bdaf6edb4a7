import Foundation
public import SecretStores

/// A passphrase that a person knows.
///
/// Its UTF-8 is used in Unicode's composed form (NFC), so that "é" opens the store however the
/// keyboard encodes it. To compose it, a passphrase that is not plain ASCII passes once through a
/// `String`, whose memory is not wiped.
public struct Passphrase: KeySource, SlotMaker {
  /// The cost of a new slot, which each guess at its passphrase takes.
  public enum Cost: Hashable, Sendable {
    /// As many passes over 256 MiB as take about a second on this machine, but 3 to 10.
    ///
    /// Processor time is measured, so that a busy machine does not choose a lower cost. Where
    /// 256 MiB are more than a quarter of the available memory, 128 or 64 MiB are used.
    case measured
    /// A cost that the caller chooses. Less than 64 MiB is for tests.
    case fixed(passes: Int, memoryByteCount: Int)
  }

  /// The limits for the cost of slots, so that a forged header cannot exhaust the machine.
  ///
  /// By design, the memory that a slot within the limits asks for is allocated, for one slot at a
  /// time; nothing else in a hostile file costs as much.
  public struct Limits: Hashable, Sendable {
    /// The smallest and the largest number of passes.
    public var passes: ClosedRange<Int>
    /// The least and the most memory in bytes.
    public var memoryByteCount: ClosedRange<Int>
    /// The largest sum of passes times memory, in bytes, over all slots that are tried when a store
    /// is opened once.
    public var totalByteCount: Int

    /// 16 slots of the largest measured cost, 40 GiB: about 16 seconds where they were made.
    private static let minimumTotalByteCount =
      KeySlot.maximumCount * MeasuredCost.passes.upperBound * MeasuredCost.maximumMemoryByteCount

    /// Creates limits; the default is 1 to 10 passes over 8 MiB to 1 GiB, and 40 GiB in total.
    ///
    /// - Parameters:
    ///   - passes: The smallest and the largest number of passes.
    ///   - memoryByteCount: The least and the most memory in bytes.
    ///   - totalByteCount: The largest sum of passes times memory over all slots; when it is left
    ///     out, 40 GiB or as much as one slot may take, if that is more.
    public init(
      passes: ClosedRange<Int> = 1...10,
      memoryByteCount: ClosedRange<Int> = 8 << 20...1 << 30,
      totalByteCount: Int? = nil
    ) {
      self.passes = passes
      self.memoryByteCount = memoryByteCount
      let largest = passes.upperBound.multipliedReportingOverflow(by: memoryByteCount.upperBound)
      self.totalByteCount =
        totalByteCount
        ?? max(Self.minimumTotalByteCount, largest.overflow ? .max : largest.partialValue)
    }
  }

  private let normalized: SecretBytes
  private let cost: Cost
  private let limits: Limits

  /// The longest passphrase in bytes of UTF-8.
  public static let maximumByteCount = 4096

  /// Takes a passphrase.
  ///
  /// - Parameters:
  ///   - utf8: 1 to 4,096 bytes of UTF-8.
  ///   - cost: The cost of a new slot; not used when a store is opened.
  ///   - limits: The limits for the cost of slots.
  /// - Throws: `invalidKey` when it is empty, too long or not UTF-8.
  public init(
    utf8: SecretBytes, cost: Cost = .measured, limits: Limits = Limits()
  ) throws(StoreError) {
    guard 1...Self.maximumByteCount ~= utf8.byteCount else {
      throw StoreError(
        .invalidKey, store: "passphrase",
        reason: "the passphrase has \(utf8.byteCount) bytes",
        remedy: "Give one of 1 to \(Self.maximumByteCount) bytes")
    }
    normalized = try Self.normalize(utf8)
    self.cost = cost
    self.limits = limits
  }

  /// Takes a passphrase from a text; the text's own memory is not wiped.
  ///
  /// - Throws: `invalidKey` when it is empty or too long.
  public init(
    _ text: String, cost: Cost = .measured, limits: Limits = Limits()
  ) throws(StoreError) {
    try self.init(utf8: SecretBytes(utf8: text), cost: cost, limits: limits)
  }

  private static func normalize(_ utf8: SecretBytes) throws(StoreError) -> SecretBytes {
    let buffer = ByteBuffer(byteCount: utf8.byteCount, isSecret: true)
    buffer.copy(utf8, to: 0)
    let isASCII = (0..<utf8.byteCount).allSatisfy { buffer.load(UInt8.self, at: $0) < 0x80 }
    if isASCII { return utf8 }
    guard let text = utf8.copyText() else {
      throw StoreError(
        .invalidKey, store: "passphrase", reason: "the passphrase is not UTF-8")
    }
    return SecretBytes(utf8: text.precomposedStringWithCanonicalMapping)
  }

  /// Derives the key for a passphrase slot, with the passes and the memory that the slot specifies.
  ///
  /// - Throws: `invalidKey` when the slot is outside of the limits, and `unavailable` when there is
  ///   not enough memory.
  public func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard case .passphrase(let parameters) = slot else { return nil }
    try check(passes: parameters.passes, memoryByteCount: parameters.memoryByteCount)
    return try key(parameters)
  }

  /// Checks that the limits allow trying all of these slots in one opening.
  ///
  /// - Throws: `invalidKey` when one of the slots, or their sum, is outside of the limits.
  public func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    var total = 0
    for case .passphrase(let parameters) in slots {
      try check(passes: parameters.passes, memoryByteCount: parameters.memoryByteCount)
      // The caller may set limits so large that these computations overflow.
      let cost = parameters.passes.multipliedReportingOverflow(by: parameters.memoryByteCount)
      let sum = total.addingReportingOverflow(cost.partialValue)
      guard !cost.overflow, !sum.overflow, sum.partialValue <= limits.totalByteCount else {
        throw StoreError(
          .invalidKey, store: StoreError.slotName,
          reason: "the passphrase slots together take more than the allowed total of "
            + "\(limits.totalByteCount >> 20) MiB (passes times memory)",
          remedy: Self.remedy)
      }
      total = sum.partialValue
    }
  }

  private static let remedy =
    "Raise the passphrase's limits (Passphrase.Limits) if you trust the origin of the store"

  private func check(passes: Int, memoryByteCount: Int) throws(StoreError) {
    guard limits.passes.contains(passes), limits.memoryByteCount.contains(memoryByteCount) else {
      throw StoreError(
        .invalidKey, store: StoreError.slotName,
        reason: "\(passes) passes over \(memoryByteCount >> 20) MiB are outside of the limits",
        remedy: Self.remedy)
    }
  }

  private func key(_ parameters: Passphrase.Parameters) throws(StoreError) -> WrappingKey {
    guard let key = try derive(parameters) else {
      throw StoreError(
        .unavailable, store: StoreError.slotName,
        reason: "deriving the key needs \(parameters.memoryByteCount >> 20) MiB of memory, "
          + "which are not available")
    }
    return key
  }

  /// Returns a passphrase slot with a new salt.
  ///
  /// - Throws: `invalidKey` when the cost is outside of the limits, and `unavailable` when there is
  ///   not enough memory.
  public func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    let salt = SystemRandomSource().bytes(Passphrase.Parameters.saltByteCount)
    if case .fixed(let passes, let memoryByteCount) = cost {
      try check(passes: passes, memoryByteCount: memoryByteCount)
      let parameters = Passphrase.Parameters(
        passes: passes, memoryByteCount: memoryByteCount, salt: salt)
      return (.passphrase(parameters), try key(parameters))
    }
    return try makeMeasuredSlot(salt: salt)
  }

  private func makeMeasuredSlot(
    salt: [UInt8]
  ) throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    for cost in try MeasuredCost.measured() {
      try check(passes: cost.passes, memoryByteCount: cost.memoryByteCount)
      let parameters = Passphrase.Parameters(
        passes: cost.passes, memoryByteCount: cost.memoryByteCount, salt: salt)
      if let key = try derive(parameters) { return (.passphrase(parameters), key) }
    }
    throw MeasuredCost.noMemory
  }

  private func derive(_ parameters: Passphrase.Parameters) throws(StoreError) -> WrappingKey? {
    let key = try KeyBytes()
    let isDerived = Sodium.deriveKey(
      passphrase: normalized, salt: parameters.salt, passes: UInt32(parameters.passes),
      memoryByteCount: parameters.memoryByteCount, into: key)
    return isDerived ? WrappingKey(key) : nil
  }
}
