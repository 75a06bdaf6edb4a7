import Foundation
import SessionToolsBase

extension Defect {
  /// Returns the value that a store with this defect keeps.
  func kept(_ value: SecretBytes) -> SecretBytes {
    let bytes = value.copyBytes()
    switch self {
    case .addsNewlines: return SecretBytes(bytes + [10])
    case .endsValuesAtNUL: return SecretBytes(Array(bytes.prefix { $0 != 0 }))
    case .trimsValues:
      guard let text = String(validating: bytes, as: UTF8.self) else { return value }
      return SecretBytes(utf8: text.trimmingCharacters(in: .whitespacesAndNewlines))
    case .repairsUTF8: return SecretBytes(utf8: String(decoding: bytes, as: UTF8.self))
    case .composesValues:
      guard let text = String(validating: bytes, as: UTF8.self) else { return value }
      return SecretBytes(utf8: text.precomposedStringWithCanonicalMapping)
    case .countsValuesByBytes: return SecretBytes(Array(bytes.prefix(bytes.count & 0xff)))
    case .cutsValuesAt64KiB: return SecretBytes(Array(bytes.prefix(65_536)))
    default: return value
    }
  }

  /// Returns the value that is read for a kept value, or for an absent item.
  func read(_ value: SecretBytes?) -> SecretBytes? {
    switch self {
    case .takesEmptyForAbsent: value?.isEmpty == true ? nil : value
    case .givesEmptyForAbsent: value ?? SecretBytes([UInt8]())
    default: value
    }
  }
}
