import Foundation
import SessionToolsBase

extension Defect {
  /// Returns the name under which a store with this defect keeps an item.
  func kept(_ key: StoreKey) -> StoreKey {
    let space = key.namespace
    switch self {
    case .ignoresCase: return named(key, key.identifier.lowercased())
    case .trimsNames:
      return named(key, key.identifier.trimmingCharacters(in: .whitespacesAndNewlines))
    case .removesControlCharacters:
      return named(key, String(key.identifier.filter { !$0.isNewline && $0 >= " " }))
    case .composesNames:
      return named(key, key.identifier.precomposedStringWithCanonicalMapping)
    case .keepsASCIINames:
      return named(key, String(key.identifier.map { $0.isASCII ? $0 : "?" }))
    case .decodesNames:
      let path = key.identifier.removingPercentEncoding ?? key.identifier
      return named(key, path.split(separator: "/").joined(separator: "/"))
    case .cutsNamesAt255Bytes: return named(key, cut(key.identifier, 255))
    case .cutsNamesAt4095Bytes:
      return named(
        inSpace(
          key, cut(space.service, 4095), space.accessGroup.map { cut($0, 4095) },
          space.install.map { cut($0.rawValue, 4095) }), cut(key.identifier, 4095))
    case .ignoresServices: return inSpace(key, "any", space.accessGroup, space.install?.rawValue)
    case .ignoresGroups: return inSpace(key, space.service, nil, nil)
    case .joinsParts, .joinsPartsWithDots:
      let parts = [space.service, space.accessGroup, space.install?.rawValue].compactMap(\.self)
      // Only if the result is a name.
      let joined = parts.joined(separator: self == .joinsParts ? "" : ".")
      return joined.utf8.count > 4096 ? key : inSpace(key, joined, nil, nil)
    default: return key
    }
  }

  private func cut(_ text: String, _ byteCount: Int) -> String {
    String(decoding: text.utf8.prefix(byteCount), as: UTF8.self)
  }

  private func named(_ key: StoreKey, _ identifier: String) -> StoreKey {
    // A name that would be empty stays as it was.
    (try? StoreKey(identifier, in: key.namespace)) ?? key
  }

  private func inSpace(
    _ key: StoreKey, _ service: String, _ group: String?, _ install: String?
  ) -> StoreKey {
    let namespace = try? StoreNamespace(
      service: service, accessGroup: group,
      install: install.map { InstallIdentifier(rawValue: $0) })
    return namespace.map(key.moved) ?? key
  }
}
