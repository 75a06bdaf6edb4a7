import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// Tests of restored headers from before a rotation.
@Suite struct StaleHeaderTests {
  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
  }

  @Test func `an open store writes nothing if the header does not match the journal`() throws {
    let store = try scratch.create()
    try store.put("value", as: "item")
    let old = try RecordedDisk.read(scratch.path)
    try store.rotate()
    for name in ["header", "header.copy"] { try scratch.overwrite(name, with: old[name] ?? []) }
    let before = try RecordedDisk.read(scratch.path)
    // The header's MAC is right and the store key opens it: only the journal reveals the change.
    #expect(try code { try store.addSlot(scratch.key) } == StoreError.corrupt)
    #expect(try code { try store.rotate() } == StoreError.corrupt)
    #expect(try RecordedDisk.read(scratch.path) == before)
    #expect(try store.text("item") == "value")
  }
}
