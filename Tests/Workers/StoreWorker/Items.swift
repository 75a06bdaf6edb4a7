import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// `items DIRECTORY KEYFILE SEED BYTES`: stores and reads one token as bytes and another one in a
/// session, padded with BYTES bytes, releases everything, and waits while a test looks for the
/// tokens.
func showItems() throws {
  guard let seed = UInt64(argument(3)) else { fail("no seed") }
  let store = try makeSeededStore()
  try useItems(store, seed)
  wait("used")
}

private struct Token: Codable {
  let text: String
  let padding: String
}

private func useItems(_ store: SealedFileStore, _ seed: UInt64) throws {
  let bytes = hexadecimal(SeededRandom.bytes(24, seed: seed, number: 2000))
  let item = Token(
    text: String(
      decoding: hexadecimal(SeededRandom.bytes(24, seed: seed, number: 2001)).copyBytes(),
      as: UTF8.self),
    padding: String(repeating: "x", count: number(4)))
  wait("in hand")
  let name = try ItemName("bytes", in: "worker")
  try store.put(bytes, for: name)
  guard try store.value(for: name) == bytes else { fail("another value") }
  let container = try StoreContainer<Token>(store, service: "worker")
  let session = Session<Token>(container: container, storageIdentifier: "session")
  try session.updateItem(item)
  guard try session.item()?.text == item.text else { fail("another item") }
}

/// Returns hexadecimal digits in memory that is wiped.
private func hexadecimal(_ bytes: [UInt8]) -> SecretBytes {
  let digits = Array("0123456789abcdef".utf8)
  let text = ByteBuffer(byteCount: 2 * bytes.count, isSecret: true)
  for (position, byte) in bytes.enumerated() {
    text.store(digits[Int(byte >> 4)], at: 2 * position)
    text.store(digits[Int(byte & 15)], at: 2 * position + 1)
  }
  return text.secret(0..<text.byteCount)
}
