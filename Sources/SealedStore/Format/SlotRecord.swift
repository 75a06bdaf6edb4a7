package import SecretStores

/// A whole key slot of the header: its head, the commitment and the wrapped key.
///
/// `head ‖ commitment 16 ‖ nonce 24 ‖ wrapped store key 48`.
package struct SlotRecord: Equatable, Sendable {
  package static let commitmentByteCount = 16
  /// Nonce, key and tag.
  package static let wrappedByteCount = 72

  let head: SlotHead
  /// The commitment to the wrapping key: shows a holder of that key that the slot is for it.
  let commitment: [UInt8]
  package let wrapped: [UInt8]

  /// The slot's parameters; `nil` for a kind that this version does not know.
  package var parameters: KeySlot.Parameters? { head.parameters }

  package var byteCount: Int { head.byteCount + Self.commitmentByteCount + Self.wrappedByteCount }

  /// The bytes before the wrapped key, which are bound to it.
  package var leadingBytes: [UInt8] { head.bytes + commitment }
}

extension SlotRecord {
  /// Reads a slot from the front of a range; `nil` when it does not fit there, or when a kind that
  /// this version knows has parameters that no writer makes.
  package init?(_ buffer: ByteBuffer, in range: Range<Int>) {
    guard let head = SlotHead(buffer, in: range) else { return nil }
    let commitment = range.lowerBound + head.byteCount
    let wrapped = commitment + Self.commitmentByteCount
    guard wrapped + Self.wrappedByteCount <= range.upperBound else { return nil }
    self.init(
      head: head, commitment: buffer.bytes(commitment..<wrapped),
      wrapped: buffer.bytes(wrapped..<wrapped + Self.wrappedByteCount))
  }
}

/// The kind and the parameters of a slot, as they are encoded in the header.
///
/// `kind 2 ‖ length of the parameters 2 ‖ parameters`.
package struct SlotHead: Equatable, Sendable {
  package static let maximumByteCount = 4 + Int(UInt16.max)

  let kind: UInt16
  let parameterBytes: [UInt8]

  /// Reads a head from the front of a range; `nil` when it does not fit there, or when a kind that
  /// this version knows has parameters that no writer makes.
  init?(_ buffer: ByteBuffer, in range: Range<Int>) {
    guard range.count >= 4 else { return nil }
    kind = buffer.load(UInt16.self, at: range.lowerBound)
    let parameters = range.lowerBound + 4
    let end = parameters + Int(buffer.load(UInt16.self, at: range.lowerBound + 2))
    guard end <= range.upperBound else { return nil }
    parameterBytes = buffer.bytes(parameters..<end)
    if 1...3 ~= kind, self.parameters == nil { return nil }
  }

  /// - Throws: `invalidName` when a label or reference is too long, or a reference is empty.
  package init(_ parameters: KeySlot.Parameters) throws(StoreError) {
    var smallest = 0
    switch parameters {
    case .rawKey(let label):
      kind = 1
      parameterBytes = Array(label.utf8)
    case .passphrase(let parameters):
      kind = 2
      let buffer = ByteBuffer(byteCount: 8 + Passphrase.Parameters.saltByteCount)
      buffer.store(UInt32(parameters.passes), at: 0)
      buffer.store(UInt32(parameters.memoryByteCount / 1024), at: 4)
      buffer.copy(parameters.salt, to: 8)
      parameterBytes = buffer.bytes(0..<buffer.byteCount)
    case .namedKey(let reference):
      kind = 3
      parameterBytes = Array(reference.utf8)
      smallest = 1
    }
    guard smallest...Name.maximumByteCount ~= parameterBytes.count else {
      throw StoreError(
        .invalidName, store: "key slot",
        reason: "the label or reference of a key slot has \(parameterBytes.count) bytes",
        remedy: "Give one of at most \(Name.maximumByteCount) bytes; a reference must not be empty")
    }
  }

  /// The slot's parameters; `nil` for a kind that this version does not know.
  var parameters: KeySlot.Parameters? {
    switch kind {
    case 1: text.map { .rawKey(label: $0) }
    case 2: passphraseParameters.map { .passphrase($0) }
    case 3: parameterBytes.isEmpty ? nil : text.map { .namedKey(reference: $0) }
    default: nil
    }
  }

  private var text: String? { String(validating: parameterBytes, as: UTF8.self) }

  private var passphraseParameters: Passphrase.Parameters? {
    guard parameterBytes.count == 8 + Passphrase.Parameters.saltByteCount else { return nil }
    let buffer = ByteBuffer(parameterBytes)
    return Passphrase.Parameters(
      passes: Int(buffer.load(UInt32.self, at: 0)),
      memoryByteCount: Int(buffer.load(UInt32.self, at: 4)) * 1024,
      salt: buffer.bytes(8..<8 + Passphrase.Parameters.saltByteCount))
  }

  var byteCount: Int { 4 + parameterBytes.count }

  var bytes: [UInt8] {
    let count = UInt16(parameterBytes.count)
    return [
      UInt8(truncatingIfNeeded: kind), UInt8(truncatingIfNeeded: kind >> 8),
      UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8),
    ] + parameterBytes
  }
}
