import SessionToolsBase

/// A key slot as it stands in the header.
///
/// `kind 2 ‖ length of the parameters 2 ‖ parameters ‖ nonce 24 ‖ wrapped store key 48`.
struct SlotRecord: Equatable {
  /// Nonce, key and tag.
  static let wrappedByteCount = 72
  static let largestParameterByteCount = Int(UInt16.max)

  let kind: UInt16
  let parameterBytes: [UInt8]
  var wrapped: [UInt8]

  /// Reads a slot from the front of a range; `nil` when there is none, or when a kind this
  /// version knows has parameters that no writer makes.
  init?(_ buffer: ByteBuffer, in range: Range<Int>) {
    guard range.count >= 4 else { return nil }
    kind = buffer.load(UInt16.self, at: range.lowerBound)
    let parameters = range.lowerBound + 4
    let wrapped = parameters + Int(buffer.load(UInt16.self, at: range.lowerBound + 2))
    guard wrapped + Self.wrappedByteCount <= range.upperBound else { return nil }
    parameterBytes = buffer.bytes(parameters..<wrapped)
    self.wrapped = buffer.bytes(wrapped..<wrapped + Self.wrappedByteCount)
    if 1...3 ~= kind, self.parameters == nil { return nil }
  }

  /// - Throws: `invalidName` when a label or reference is too long.
  init(_ parameters: KeySlotParameters) throws(StoreError) {
    switch parameters {
    case .rawKey(let label):
      kind = 1
      parameterBytes = Array(label.utf8)
    case .passphrase(let parameters):
      kind = 2
      let buffer = ByteBuffer(byteCount: 8 + PassphraseParameters.saltByteCount)
      buffer.store(UInt32(parameters.passes), at: 0)
      buffer.store(UInt32(parameters.memoryByteCount / 1024), at: 4)
      buffer.copy(parameters.salt, to: 8)
      parameterBytes = buffer.bytes(0..<buffer.byteCount)
    case .namedKey(let reference):
      kind = 3
      parameterBytes = Array(reference.utf8)
    }
    wrapped = [UInt8](repeating: 0, count: Self.wrappedByteCount)
    guard parameterBytes.count <= Name.largestByteCount else {
      throw StoreError(
        StoreError.invalidName, store: "key slot",
        reason: "the label or reference of a key slot has \(parameterBytes.count) bytes",
        remedy: "Give one of at most \(Name.largestByteCount) bytes")
    }
  }

  /// What the slot opens with; `nil` for a kind this version does not know.
  var parameters: KeySlotParameters? {
    switch kind {
    case 1: String(validating: parameterBytes, as: UTF8.self).map { .rawKey(label: $0) }
    case 2: passphraseParameters.map { .passphrase($0) }
    case 3: String(validating: parameterBytes, as: UTF8.self).map { .namedKey(reference: $0) }
    default: nil
    }
  }

  private var passphraseParameters: PassphraseParameters? {
    guard parameterBytes.count == 8 + PassphraseParameters.saltByteCount else { return nil }
    let buffer = ByteBuffer(parameterBytes)
    return PassphraseParameters(
      passes: Int(buffer.load(UInt32.self, at: 0)),
      memoryByteCount: Int(buffer.load(UInt32.self, at: 4)) * 1024,
      salt: buffer.bytes(8..<8 + PassphraseParameters.saltByteCount))
  }

  var byteCount: Int { 4 + parameterBytes.count + Self.wrappedByteCount }

  /// Kind, length and parameters: what stands before the wrapped key, and binds it.
  var leadingBytes: [UInt8] {
    let count = UInt16(parameterBytes.count)
    return [
      UInt8(truncatingIfNeeded: kind), UInt8(truncatingIfNeeded: kind >> 8),
      UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8),
    ] + parameterBytes
  }
}
