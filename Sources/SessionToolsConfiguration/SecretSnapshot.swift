#if Configuration
public import Configuration
import Foundation
import SessionToolsBase

/// The values of a provider, as they were read one after the other: put what must change together,
/// such as a user and a password, into one item.
///
/// How an item is read depends on the type that is asked for:
///
/// | type | the item's bytes |
/// |---|---|
/// | string | UTF-8, with all its whitespace |
/// | int, double | a number as text, which may have whitespace around it |
/// | bool | `true`, `yes`, `1`, `false`, `no` or `0`, in any case |
/// | bytes | the bytes themselves |
/// | arrays | text with a comma between the elements, which are trimmed; byte chunks are Base64 |
public struct SecretSnapshot: ConfigSnapshot, CustomStringConvertible {
  /// The name of the provider.
  public let providerName: String
  let values: [String: SecretBytes]

  /// Returns a value.
  ///
  /// - Throws: `StoreError.undecodable` when it is not of this type.
  public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
    let encoded = key.itemIdentifier
    return LookupResult(
      encodedKey: encoded, value: try values[encoded]?.configValue(of: type, at: encoded))
  }

  /// The provider and how many values there are, without names.
  public var description: String { "\(providerName), \(values.count) values" }
}

extension ReloadingSecretStoreProvider: CustomStringConvertible {
  /// The name of the provider and how many values it has, without names.
  public var description: String { "\(snapshot())" }
}

extension AbsoluteConfigKey {
  /// The name of the key's item: no two keys have the same one.
  var itemIdentifier: String {
    components.map { component in
      PercentEncoding.encode(component) { $0 == "%" || $0 == "." }
    }.joined(separator: ".")
  }
}

extension SecretBytes {
  /// Returns the bytes as a value of a type.
  ///
  /// - Throws: `undecodable`, without the value.
  func configValue(of type: ConfigType, at identifier: String) throws(StoreError) -> ConfigValue {
    guard let content = content(of: type) else {
      throw StoreError(
        .undecodable, store: identifier, reason: "the item is not a value of the type \(type)",
        remedy: "Store such a value, or read it as another type")
    }
    return ConfigValue(content, isSecret: true)
  }

  private func content(of type: ConfigType) -> ConfigContent? {
    let bytes = copyBytes()
    if type == .bytes { return .bytes(bytes) }
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    return switch type {
    case .bytes: .bytes(bytes)
    case .string: .string(text)
    case .int: Int(text.trimmed).map { .int($0) }
    case .double: Double(text.trimmed).map { .double($0) }
    case .bool: text.trimmed.asBool.map { .bool($0) }
    case .stringArray: .stringArray(text.elements)
    case .intArray: text.allElements { Int($0) }.map { .intArray($0) }
    case .doubleArray: text.allElements { Double($0) }.map { .doubleArray($0) }
    case .boolArray: text.allElements(\.asBool).map { .boolArray($0) }
    case .byteChunkArray:
      text.allElements { Data(base64Encoded: $0).map(Array.init) }.map { .byteChunkArray($0) }
    }
  }
}

extension String {
  fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }

  fileprivate var asBool: Bool? {
    switch lowercased() {
    case "true", "yes", "1": true
    case "false", "no", "0": false
    default: nil
    }
  }

  fileprivate var elements: [String] {
    trimmed.isEmpty
      ? []
      : split(separator: ",", omittingEmptySubsequences: false).map {
        String($0).trimmed
      }
  }

  /// Returns all elements converted; `nil` if one of them cannot be.
  fileprivate func allElements<Element>(_ convert: (String) -> Element?) -> [Element]? {
    let all = elements
    let converted = all.compactMap(convert)
    return converted.count == all.count ? converted : nil
  }
}
#endif
