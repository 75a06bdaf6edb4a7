import CSessionToolsSodium
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests that the library writes the same files as the independent writer from the same random
/// bytes.
@Suite struct ByteExactTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  /// Returns the n-th random bytes of a store of `make_vectors.py`, which derives them from its
  /// seed.
  private func drawn(_ byteCount: Int, _ number: UInt64, seed: String) -> [UInt8] {
    var out = [UInt8](repeating: 0, count: byteCount)
    let counter = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    let key = Array(seed.utf8)
    _ = unsafe crypto_generichash(&out, byteCount, counter, 8, key, key.count)
    return out
  }

  /// Returns the random bytes of the other writer in the library's order.
  ///
  /// The other writer draws store key, data key, store id, raw key and journal id, then a nonce for
  /// each record, and finally the nonces of the slot and the data key.
  private func random(seed: String, recordCount: UInt64) -> ListedRandom {
    func draw(_ byteCount: Int, _ number: UInt64) -> [UInt8] {
      drawn(byteCount, number, seed: seed)
    }
    let beforeRecords = [
      draw(16, 3), draw(32, 1), draw(32, 2), draw(24, 6 + recordCount), draw(24, 7 + recordCount),
      draw(16, 5),
    ]
    return ListedRandom(beforeRecords + (0..<recordCount).map { draw(24, 6 + $0) })
  }

  private func write(
    _ vector: String, seed: String, recordCount: UInt64,
    _ changes: (SealedFileStore) throws -> Void
  ) throws {
    let random = random(seed: seed, recordCount: recordCount)
    let key = try RawKey(SecretBytes(drawn(32, 4, seed: seed)))
    let store = try SealedFileStore.create(
      at: scratch.path, key: key, environment: StoreEnvironment(random: random, clock: nil))
    try changes(store)
    #expect(random.isUsedUp)
    let theirs = try #require(Vector.all.first { $0.name == vector })
    let ours = try RecordedDisk.read(scratch.path)
    #expect(Set(ours.keys) == Set(theirs.files.map(\.name)))
    for file in theirs.files {
      #expect(ours[file.name] == file.content, "\(file.name)")
    }
  }

  private func name(_ identifier: String, group: String? = nil) throws -> ItemName {
    try ItemName(identifier, in: StoreNamespace(service: "svc", accessGroup: group))
  }

  @Test func `an empty store is the same, byte for byte`() throws {
    try write("ok_empty", seed: "empty", recordCount: 0) { _ in }
  }

  @Test func `four changes are the same, byte for byte`() throws {
    try write("ok_four", seed: "four", recordCount: 4) { store in
      try store.put(secret("value of alpha"), for: name("alpha"))
      try store.put(secret("value of beta"), for: name("beta"))
      try store.put(secret("value of gamma"), for: name("gamma", group: "grp"))
      try store.put(secret("value of delta"), for: name("delta"))
    }
  }

  @Test func `a list of puts and a removal is the same, byte for byte`() throws {
    try write("ok_change_of_four", seed: "multi", recordCount: 5) { store in
      try store.put(secret("before"), for: name("delta"))
      try store.apply([
        .put(secret("1"), for: name("alpha")), .put(secret("2"), for: name("beta")),
        .remove(name("delta")), .put(secret("3"), for: name("gamma", group: "grp")),
      ])
    }
  }

  @Test func `an item put, removed and put again is the same, byte for byte`() throws {
    try write("ok_removed_put_again", seed: "removed again", recordCount: 3) { store in
      try store.put(secret("old"), for: name("alpha"))
      try store.remove(name("alpha"))
      try store.put(secret("back"), for: name("alpha"))
    }
  }

  @Test(
    arguments: [
      59, 60, 61, 68, 69, 123, 124, 125, 140, 141, 251, 252, 253, 4092, 4093, 65532, 65533,
    ])
  func `padding is the same for every length`(length: Int) throws {
    let name = try name("alpha")
    var block = [UInt8](repeating: 0, count: 64)
    let text = Array("long".utf8)
    _ = unsafe crypto_generichash(&block, 64, text, 4, nil, 0)
    let value = (0..<length).map { block[$0 % 64] }
    try write("ok_size_\(length)", seed: "size \(length)", recordCount: 1) { store in
      try store.put(SecretBytes(value), for: name)
    }
  }
}
