import SealedStore
import SessionToolsBase
import TestSupport
import Testing

@Suite struct BasicTests {
  let directory: TemporaryDirectory
  let key: RawKey

  init() throws {
    directory = try TemporaryDirectory()
    key = try RawKey(RawKey.random())
  }

  @Test func `a value that was put is read by the same and by another store object`() throws {
    let store = try SealedFileStore.create(at: directory["store"], key: key)
    let name = try StoreKey("token", in: "com.example")
    try store.put(SecretBytes(utf8: "s3cret"), for: name)
    #expect(try store.value(for: name) == SecretBytes(utf8: "s3cret"))
    let other = try SealedFileStore.open(at: directory["store"], key: key)
    #expect(try other.value(for: name) == SecretBytes(utf8: "s3cret"))
    try other.remove(name)
    #expect(try store.value(for: name) == nil)
    for number in 0..<100 {
      try store.put(SecretBytes(utf8: "\(number)"), for: StoreKey("\(number)", in: "a"))
    }
    #expect(try other.keys(in: "a").count == 100)
    try other.compact()
    #expect(try store.keys(in: nil).count == 100)
    try store.rotate()
    #expect(try other.keys(in: nil).count == 100)
    #expect(try other.verify().findings == [])
    try other.addSlot(Passphrase("hällo", cost: .fixed(passes: 1, memoryByteCount: 8 << 20)))
    let third = try SealedFileStore.open(at: directory["store"], key: Passphrase("ha\u{308}llo"))
    #expect(try third.value(for: StoreKey("7", in: "a")) == SecretBytes(utf8: "7"))
    #expect(try third.repair().wasNeeded == false)
  }
}
