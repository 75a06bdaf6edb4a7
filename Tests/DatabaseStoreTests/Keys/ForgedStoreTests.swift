import DatabaseStore
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What a database's administrator, who reads the public key in the header, can make of it.
@Suite(.onOwnThread) struct `a store that was forged for a recipient` {
  @Test func `is refused by its fingerprint, and no item is written to it`() async throws {
    let made = try await StoreOnServer()
    let directory = try TemporaryDirectory()
    let secret = try RecipientKey.create(at: directory["recovery.key"])
    try made.store.addSlot(secret.recipient())
    let fingerprint = try made.store.fingerprint()
    let (address, options) = (made.location.address, made.location.options)
    func opening(_ key: RecipientKey) throws -> StoreError.Code? {
      try code { _ = try SealedDatabaseStore.open(address, key: key, options: options) }
    }
    let key = RecipientKey(secret.path, expecting: fingerprint)
    #expect(try opening(key) == nil)
    #expect(try opening(secret) == .wrongStore)

    let forged = try await StoreOnServer()
    try forged.store.addSlot(Recipient(secret.recipient().text))
    let bytes = try await forged.ask("SELECT encode(bytes, 'hex') FROM $.header")
    let number = try await forged.ask("SELECT number FROM $.header")
    try await made.ask(
      "UPDATE $.header SET bytes = decode('\(bytes)', 'hex'), number = \(number)")
    for key in [key, secret] { #expect(try opening(key) == .wrongStore) }
    #expect(try await made.ask("SELECT count(*) FROM $.item") == "0")
  }
}
