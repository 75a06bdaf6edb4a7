import Foundation
import SessionToolsBase

extension Defect {
  /// Returns the name under which a store with this defect keeps an item.
  func kept(_ name: ItemName) -> ItemName {
    let space = name.namespace
    switch self {
    case .ignoresCase: return named(name, name.identifier.lowercased())
    case .trimsNames:
      return named(name, name.identifier.trimmingCharacters(in: .whitespacesAndNewlines))
    case .removesControlCharacters:
      return named(name, String(name.identifier.filter { !$0.isNewline && $0 >= " " }))
    case .composesNames:
      return named(name, name.identifier.precomposedStringWithCanonicalMapping)
    case .keepsASCIINames:
      return named(name, String(name.identifier.map { $0.isASCII ? $0 : "?" }))
    case .decodesNames:
      let path = name.identifier.removingPercentEncoding ?? name.identifier
      return named(name, path.split(separator: "/").joined(separator: "/"))
    case .cutsNamesAt255Bytes: return named(name, cut(name.identifier, 255))
    case .cutsNamesAt4095Bytes:
      return named(
        inSpace(
          name, cut(space.service, 4095), space.accessGroup.map { cut($0, 4095) },
          space.install.map { cut($0.rawValue, 4095) }), cut(name.identifier, 4095))
    case .ignoresServices: return inSpace(name, "any", space.accessGroup, space.install?.rawValue)
    case .ignoresGroups: return inSpace(name, space.service, nil, nil)
    case .joinsParts, .joinsPartsWithDots:
      let parts = [space.service, space.accessGroup, space.install?.rawValue].compactMap(\.self)
      // Only if the result is a name.
      let joined = parts.joined(separator: self == .joinsParts ? "" : ".")
      return joined.utf8.count > 4096 ? name : inSpace(name, joined, nil, nil)
    default: return name
    }
  }

  private func cut(_ text: String, _ byteCount: Int) -> String {
    String(decoding: text.utf8.prefix(byteCount), as: UTF8.self)
  }

  private func named(_ name: ItemName, _ identifier: String) -> ItemName {
    // A name that would be empty stays as it was.
    (try? ItemName(identifier, in: name.namespace)) ?? name
  }

  private func inSpace(
    _ name: ItemName, _ service: String, _ group: String?, _ install: String?
  ) -> ItemName {
    let namespace = try? StoreNamespace(
      service: service, accessGroup: group,
      install: install.map { InstallIdentifier(rawValue: $0) })
    return namespace.map(name.moved) ?? name
  }
}

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
