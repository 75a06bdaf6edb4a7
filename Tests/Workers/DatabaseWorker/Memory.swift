import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// Has keys and a value in memory, wipes and releases them, and waits after each step for a line of
/// its input, so that a test can search its memory meanwhile.
func showMemory() throws {
  guard let seed = UInt64(argument(1)) else { fail("no seed") }
  try show(SeededRandom(seed: seed))
  pause("released")
}

private func pause(_ state: String) {
  KeyMemory.wipeStack()
  say(state)
  _ = readLine()
}

private func show(_ random: SeededRandom) throws {
  let buffer = ByteBuffer(byteCount: 4000, isSecret: true)
  random.fill(buffer, 0..<4000)
  let source = try RawKey(RawKey.random())
  let name = try ItemName("item", in: "svc")
  let (header, keys) = try DatabaseHeader.make(for: source.makeSlot(), random: random)
  let row = try RowSealer(1, keys: keys, of: "database", random: random)
    .seal(buffer.secret(0..<4000), for: name, version: 1)
  pause("made")
  keys.wipe()
  pause("wiped")

  let opened = try header.header(of: "database").open(with: source, of: "database").keys
  let newer = try header.header(of: "database").open(with: opened, of: "database")
  opened.wipe()
  var reader = CanonicalNameReader()
  let item = try RowOpener(keys: newer, of: "database").item(of: row, by: &reader)
  pause("opened")
  withExtendedLifetime((item, newer, buffer)) {}
}
