import Foundation
import SealedStore
import SessionToolsBase
import Synchronization
import Testing

/// Tests of the limit on the total cost of a store's passphrase slots.
@Suite struct PassphraseCostTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  /// Makes a passphrase whose limit on the total cost is `slotCount` slots of the cheapest kind.
  private func passphrase(_ text: String, total slotCount: Int) throws -> Passphrase {
    try Passphrase(
      text, cost: .fixed(passes: 1, memoryByteCount: 8 << 20),
      limits: Passphrase.Limits(totalByteCount: slotCount * 8 << 20))
  }

  /// Makes a store with slots for the passphrases "0", "1", and so on.
  private func makeStore(slotCount: Int) throws -> SealedFileStore {
    let store = try SealedFileStore.create(at: scratch.path, key: Passphrase.cheap("0"))
    for number in 1..<slotCount { try store.addSlot(Passphrase.cheap("\(number)")) }
    return store
  }

  @Test func `slots are tried until their total cost exceeds the limit`() throws {
    _ = try makeStore(slotCount: 3)
    for (number, total) in [(0, 1), (1, 2), (2, 3), (2, 100)] {
      _ = try SealedFileStore.open(
        at: scratch.path, key: passphrase("\(number)", total: total))
    }
    for (number, total) in [(1, 1), (2, 2), (2, 1)] {
      let refusal = try error {
        _ = try SealedFileStore.open(
          at: scratch.path, key: passphrase("\(number)", total: total))
      }
      #expect(refusal.code == .invalidKey)
      #expect("\(refusal)".hasPrefix("\(scratch.path): key slot \(total + 1): "))
      #expect(refusal.remedy?.contains("Passphrase.Limits") == true)
    }
  }

  @Test func `a slot that is refused for its own cost is not counted`() throws {
    let store = try makeStore(slotCount: 1)
    try store.changeSlot(
      1, to: Passphrase("dear", cost: .fixed(passes: 3, memoryByteCount: 8 << 20)))
    try store.addSlot(Passphrase.cheap("cheap"))
    let key = try Passphrase(
      "cheap", limits: Passphrase.Limits(passes: 1...2, totalByteCount: 8 << 20))
    _ = try SealedFileStore.open(at: scratch.path, key: key)
  }

  @Test func `a slot that would raise the total cost above the limit is not made`() throws {
    let store = try makeStore(slotCount: 2)
    try store.addSlot(passphrase("2", total: 3))
    let header = try scratch.bytes(of: "header")
    for attempt in [
      { try store.addSlot(passphrase("3", total: 3)) },
      {
        try store.changeSlot(
          1,
          to: Passphrase(
            "dear", cost: .fixed(passes: 3, memoryByteCount: 8 << 20),
            limits: Passphrase.Limits(totalByteCount: 4 * 8 << 20)))
      },
    ] as [() throws -> Void] {
      let refusal = try error(attempt)
      #expect(refusal.code == .invalidKey)
      #expect(refusal.store == scratch.path)
      #expect(refusal.remedy?.contains("Remove a passphrase slot") == true)
    }
    #expect(try scratch.bytes(of: "header") == header)
    // A slot that replaces another does not raise the total, and other kinds cost nothing.
    try store.changeSlot(1, to: passphrase("new", total: 3))
    try store.addSlot(scratch.key)
  }

  @Test func `costs that overflow a number are refused, whatever the limits`() throws {
    let passphrase = try Passphrase(
      "p",
      limits: Passphrase.Limits(
        passes: 1...Int.max, memoryByteCount: 1...Int.max, totalByteCount: Int.max))
    func slot(passes: Int, memoryByteCount: Int) -> KeySlot.Parameters {
      .passphrase(
        Passphrase.Parameters(
          passes: passes, memoryByteCount: memoryByteCount,
          salt: [UInt8](repeating: 0, count: 16)))
    }
    let half = slot(passes: 1 << 22, memoryByteCount: 1 << 40)
    try passphrase.checkCost(of: [half])
    #expect(try code { try passphrase.checkCost(of: [half, half]) } == StoreError.invalidKey)
    let whole = slot(passes: 1 << 23, memoryByteCount: 1 << 41)
    #expect(try code { try passphrase.checkCost(of: [whole]) } == StoreError.invalidKey)
  }

  @Test func `another error of a key source for a new slot is thrown unchanged`() throws {
    let store = try scratch.create()
    let error = try error { try store.addSlot(RefusingKey()) }
    #expect(error.code == .unavailable)
    #expect(error.reason == "not today")
  }

  @Test func `limits for one slot raise the limit on the total if one slot needs it`() {
    #expect(Passphrase.Limits().totalByteCount == 40 << 30)
    #expect(Passphrase.Limits(passes: 1...50).totalByteCount == 50 << 30)
    #expect(Passphrase.Limits(passes: 1...Int.max).totalByteCount == Int.max)
    #expect(Passphrase.Limits(passes: 1...20, totalByteCount: 5).totalByteCount == 5)
  }

  /// The header has sixteen slots of the largest allowed cost, which would take minutes to try.
  @Test func `a forged header costs no more than the limit`() throws {
    _ = try SealedFileStore.create(at: scratch.path, key: Passphrase.cheap("p"))
    let header = try scratch.bytes(of: "header")
    var dear = Array(header[32..<148])
    dear.replaceSubrange(4..<12, with: [10, 0, 0, 0, 0, 0, 16, 0])
    var forged = header[..<32] + Array(repeating: dear, count: 16).joined() + header[148..<220]
    forged[10] = 16
    forged += Checksum.blake2b16(ByteBuffer(Array(forged)))
    for name in ["header", "header.copy"] {
      try scratch.overwrite(name, with: Array(forged) + [UInt8](repeating: 0, count: 32))
    }
    let key = CountingKey(passphrase: try Passphrase("p"))
    let refusal = try error { _ = try SealedFileStore.open(at: scratch.path, key: key) }
    #expect(refusal.code == .invalidKey)
    #expect(key.spent == [10 << 30, 10 << 30, 10 << 30, 10 << 30])
  }
}

/// A key that refuses every new slot.
private struct RefusingKey: KeySource, SlotMaker {
  func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    throw StoreError(.unavailable, store: "key", reason: "not today")
  }

  func wrappingKey(for slot: KeySlot.Parameters) -> WrappingKey? { nil }

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    (.rawKey(label: "refusing"), try WrappingKey(RawKey.random()))
  }
}

/// A passphrase that records the cost of deriving a key and returns a wrong key.
private final class CountingKey: KeySource {
  private let passphrase: Passphrase
  private let costs = Mutex<[Int]>([])

  init(passphrase: Passphrase) {
    self.passphrase = passphrase
  }

  var spent: [Int] { costs.withLock { $0 } }

  func checkCost(of slots: [KeySlot.Parameters]) throws(StoreError) {
    try passphrase.checkCost(of: slots)
  }

  func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard case .passphrase(let parameters) = slot else { return nil }
    costs.withLock { $0.append(parameters.passes * parameters.memoryByteCount) }
    return try WrappingKey(RawKey.random())
  }
}
