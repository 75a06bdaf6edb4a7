import SealedStore
import SecurityKeys
import SessionToolsBase
import SessionToolsSoftwareKeys
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct ForgedSlotTests {
  @Test func `a header with sixteen slots for one credential costs one guess`() async throws {
    let (stage, key, forged) = (try KeyStage(), try SoftwareKey(), try KeyStage())
    _ = try await stage.run("enroll:1234", with: [key])
    let slots = try SealedFileStore.keySlots(at: stage.path)
    let copied = ForgedSlot(parameters: try #require(slots[1].parameters))
    let store = try SealedFileStore.open(at: forged.path, key: forged.keyFile)
    for _ in 2...KeySlot.maximumCount { _ = try store.addSlot(copied) }
    let last = try await forged.run("open:1234", with: [key]).last
    #expect(
      last?.hasPrefix("open: invalidKey: key slot 3 (Ada's): the key was asked for another slot")
        == true)
    #expect(key.count("right PIN") == 3)
    #expect(key.count("assertion") == 2)
    #expect(try await forged.run("open:0000", with: [key]).last?.contains("7 tries") == true)
    #expect(key.count("wrong PIN") == 1)
  }

  @Test(arguments: [0, 1024, 65535])
  func `a reference with a credential of a wrong length is not for a key`(byteCount: Int) throws {
    let lengths = [UInt8(byteCount & 0xFF), UInt8(byteCount >> 8)]
    let bytes =
      [1, 0] + [UInt8](repeating: 7, count: 32) + lengths
      + [UInt8](repeating: 9, count: min(byteCount, 1024))
    let slot = KeySlot.Parameters.namedKey(
      reference: KeyReference(scheme: "fido2", bytes: bytes).text)
    let key = SecurityKey(pin: { _ in nil }, onTouch: {})
    #expect(try key.wrappingKey(for: slot) == nil)
    #expect(try !SecurityKey.isConnected(for: slot))
  }
}

/// A source of slots that name a credential and do not open with it.
private struct ForgedSlot: SlotMaker {
  let parameters: KeySlot.Parameters

  func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    (parameters, try WrappingKey(SecretBytes(utf8: "a key of someone else's, of 32 b")))
  }
}
