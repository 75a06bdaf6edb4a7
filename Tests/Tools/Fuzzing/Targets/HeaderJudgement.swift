import SessionToolsBase

/// The result that the format's description requires for a header and its copy, for a raw key.
enum HeaderJudgement {
  private enum Verdict {
    case damaged
    case refused(StoreError.Code)
    case opens
  }

  /// Returns the error that opening must throw, or `nil`, and the header that must be used.
  static func judge(_ files: [String: [UInt8]]) -> (code: StoreError.Code?, used: [UInt8]) {
    for name in ["header", "header.copy"] {
      guard let file = files[name] else { continue }
      switch verdict(file) {
      case .damaged: continue
      case .refused(let code): return (code, file)
      case .opens: return (nil, file)
      }
    }
    // At least one header exists: if both are missing, the store is judged by its journal.
    return (StoreError.corrupt, [])
  }

  private static func verdict(_ file: [UInt8]) -> Verdict {
    let checked = file.count - 48
    guard checked >= 32,
      Primitives.hash(16, Array(file[..<checked])) == Array(file[checked..<checked + 16])
    else { return .damaged }
    guard Array(file[..<8]) == Array("SSNTOOLS".utf8) else { return .refused(StoreError.corrupt) }
    guard file.integer(at: 8, byteCount: 2) == 1 else {
      return .refused(StoreError.unsupportedVersion)
    }
    let count = Int(file.integer(at: 10, byteCount: 2))
    guard 1...16 ~= count, file[12..<16].allSatisfy({ $0 == 0 }) else {
      return .refused(StoreError.corrupt)
    }
    let binding = Array(file[..<10]) + file[16..<32]
    var offset = 32
    var storeKey: [UInt8]?
    for _ in 0..<count {
      guard let slot = slot(Array(file[offset..<checked])) else {
        return .refused(StoreError.corrupt)
      }
      let end = offset + slot.byteCount
      let leading = Array(file[offset..<end - 72])
      if slot.kind == 1, storeKey == nil,
        Array(leading.suffix(16))
          == KnownStore.commitment(
            of: Array(leading.dropLast(16)), store: Array(file[16..<32]))
      {
        storeKey = Primitives.open(
          Array(file[end - 72..<end]), key: KnownStore.wrappingKey, binding: binding + leading)
        if storeKey == nil { return .refused(StoreError.corrupt) }
      }
      offset = end
    }
    guard offset + 72 == checked else { return .refused(StoreError.corrupt) }
    guard let storeKey else { return .refused(StoreError.wrongKey) }
    let dataKey = Primitives.open(
      Array(file[offset..<checked]), key: storeKey, binding: binding + Array("data".utf8))
    let mac = Primitives.hash(32, key: KnownStore.headerKey, Array(file[..<(checked + 16)]))
    guard dataKey != nil, mac == Array(file[(checked + 16)...]) else {
      return .refused(StoreError.corrupt)
    }
    return .opens
  }

  private static func slot(_ bytes: [UInt8]) -> (kind: Int, byteCount: Int)? {
    guard bytes.count >= 4 else { return nil }
    let kind = Int(bytes.integer(at: 0, byteCount: 2))
    let length = Int(bytes.integer(at: 2, byteCount: 2))
    guard bytes.count >= 4 + length + 88 else { return nil }
    let parameters = Array(bytes[4..<4 + length])
    switch kind {
    case 1, 3:
      let text = String(decoding: parameters, as: UTF8.self)
      guard text.utf8.elementsEqual(parameters), kind == 1 || length > 0 else { return nil }
    case 2:
      guard length == 24 else { return nil }
    default: break
    }
    return (kind, 4 + length + 88)
  }
}
