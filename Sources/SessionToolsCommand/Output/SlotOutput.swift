import SealedStore

extension KeySlot {
  /// A description of what the slot opens with, for a person.
  var means: String { parameters?.description ?? "a kind of key from a newer version" }
}

/// A key slot as JSON.
struct SlotOutput: Encodable {
  private let kind: String
  @Nullable private var label: String?
  @Nullable private var memoryByteCount: Int?
  private let number: Int
  @Nullable private var passes: Int?
  @Nullable private var reference: String?
  @Nullable private var scheme: String?

  init(_ slot: KeySlot) {
    number = slot.number
    switch slot.parameters {
    case .rawKey(let label):
      kind = "rawKey"
      self.label = label
    case .passphrase(let parameters):
      kind = "passphrase"
      memoryByteCount = parameters.memoryByteCount
      passes = parameters.passes
    case .namedKey(let reference):
      kind = "namedKey"
      self.reference = reference
      scheme = KeyReference(reference)?.scheme
      label = ReferencedKey(reference).label
    case nil:
      kind = "unknown"
    }
  }
}

/// The slots of a store, with its fingerprint if a key that opens it was found.
struct SlotListOutput: Encodable {
  @Nullable private var fingerprint: String?
  private let identifier: String
  private let slots: [SlotOutput]

  init(identifier: String, slots: [KeySlot], fingerprint: StoreFingerprint?) {
    self.fingerprint = fingerprint?.text
    self.identifier = identifier
    self.slots = slots.map(SlotOutput.init)
  }

  /// Writes slots for a person, or a line for each for a program; only a person gets the
  /// fingerprint.
  static func writeTable(
    of slots: [KeySlot], fingerprint: StoreFingerprint?
  ) throws {
    var table = Table(["SLOT", "OPENS WITH"])
    table.rows = slots.map { ["\($0.number)", $0.means] }
    try table.write()
    if let fingerprint {
      StandardError.say("fingerprint \(fingerprint)")
    } else if slots.contains(where: \.isRecipient) {
      StandardError.say("For the fingerprint, give a key that opens the store.")
    }
  }
}
