import Foundation
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests that search for keys in the memory of a process that sealed and opened rows.
@Suite(.onOwnThread) struct DatabaseKeyMemoryTests {
  private static let seed: UInt64 = 20_261_126

  /// What the worker has in memory: it takes a value first, then its identifier, the store key, the
  /// index key and the data key.
  private static let secrets: [String: [UInt8]] = {
    let keys = (3...5).map { SeededRandom.bytes(32, seed: seed, number: $0) }
    return [
      "value": Array(SeededRandom.bytes(4000, seed: seed, number: 1)[100..<140]),
      "store key": keys[0], "index key": keys[1], "data key": keys[2],
      "header key": derived(1, from: keys[0]), "tag key": derived(5, from: keys[1]),
      "lease key": derived(6, from: keys[1]), "value key": derived(3, from: keys[2]),
      "name key": derived(5, from: keys[2]),
    ]
  }()

  /// Derives a key like libsodium's `crypto_kdf`: BLAKE2b with the number as salt.
  private static func derived(_ number: UInt8, from key: [UInt8]) -> [UInt8] {
    Blake2b.hash(
      [], byteCount: 32, key: key, salt: [number] + [UInt8](repeating: 0, count: 15),
      personal: Array("SSNTOOLS".utf8) + [UInt8](repeating: 0, count: 8))
  }

  @Test(.disabled(if: isSanitized, "a sanitizer's memory cannot be searched"))
  func `no key and no value is in memory after it is wiped or released`() throws {
    let (process, input, output) = try Child.piped(
      BuildDirectory.program("SessionToolsDatabaseWorker"), ["memory", "\(Self.seed)"])
    defer { process.kill() }

    // The index key and the data key are never kept. All others must be found, which shows that the
    // search works.
    let keys = Set(Self.secrets.keys).subtracting(["value", "index key", "data key"])
    let kept: [(state: String, secrets: Set<String>)] = [
      ("made", keys.union(["value"])), ("wiped", ["value"]), ("opened", keys.union(["value"])),
      ("released", []),
    ]
    for (state, expected) in kept {
      let line = output.availableData
      #expect(String(decoding: line, as: UTF8.self) == "\(state)\n")
      let found = try ProcessMemory(of: process.identifier).places(of: Self.secrets)
      #expect(Set(found.keys) == expected, "while \(state)")
      for (name, places) in found where name != "value" {
        #expect(places.allSatisfy { $0.isLeftOutOfDumps && $0.isLocked }, "\(name)")
      }
      try input.write(contentsOf: Data("\n".utf8))
    }
    #expect(process.waitUntilExit() == 0)
  }
}
