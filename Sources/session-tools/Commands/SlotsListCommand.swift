import ArgumentParser
import SealedStore
import SessionToolsBase
import ToolBase

/// `session-tools slots list`.
struct SlotsListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the key slots of a store; needs no key.",
    discussion: """
      Two columns: the slot's number and what it opens with; they are separated by a tab unless \
      on a terminal. With --opens-with, only the slots that a key file opens; exit status 5 when \
      it opens no slot. If a key is found without asking, or given, the store's fingerprint is \
      written to standard error: a recipient needs it to open the store.

      With --json: {"fingerprint", "identifier", "slots": [{"kind", "label", "memoryByteCount", \
      "number", "passes", "reference", "scheme"}]}. A kind is rawKey, passphrase, namedKey or \
      unknown; a field that a kind does not have is null. The scheme of a namedKey is \
      secret-service, fido2 (a security key), x25519 (a recipient), or another one. The identifier \
      is the store's own.

      Example:
        session-tools slots list ~/vault
        session-tools slots list ~/vault --opens-with bob.key
      """)

  @OptionGroup var store: OptionalStoreArgument
  @Option(
    name: .long, help: ArgumentHelp("List only the slots of a key file.", valueName: "file"),
    completion: .file())
  var opensWith: String?
  @OptionGroup(title: "Key, for the fingerprint") var key: KeyOptions
  @OptionGroup var waiting: TimeoutOptions
  @OptionGroup var format: JSONOption

  func run() throws {
    let path = try store.location().sealedPath()
    let slots =
      try opensWith.map { try self.slots(at: path, openedWith: $0) }
      ?? SealedFileStore.keySlots(at: path)
    let fingerprint = try fingerprint(at: path)
    guard format.json else {
      return try SlotListOutput.writeTable(of: slots, fingerprint: fingerprint)
    }
    try format.write(
      SlotListOutput(
        identifier: try SealedFileStore.identifier(at: path), slots: slots,
        fingerprint: fingerprint))
  }

  /// Returns the fingerprint; `nil` if no key was given and none is found without asking.
  private func fingerprint(at path: String) throws -> StoreFingerprint? {
    let finder = KeyFinder(path: path, argument: key.argument, interaction: .never)
    do {
      return try finder.fingerprint(waitingAtMost: waiting.timeout)
    } catch {
      // The slots are listed all the same: they tell which key is needed.
      guard key.argument == nil else { throw error }
      return nil
    }
  }

  /// Returns the slots that a key file opens.
  ///
  /// They are those that a revocation would keep for the file; it is planned and not made.
  private func slots(at path: String, openedWith file: String) throws -> [KeySlot] {
    let key = KeyFile(file)
    let options = SealedFileStore.Options(lockTimeout: waiting.timeout, onNotice: Notices.report)
    return try SealedFileStore.open(at: path, key: key, options: options)
      .revocationPlan(keeping: [key]).kept
  }
}
