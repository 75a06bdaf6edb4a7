import Foundation
import SecretStores

extension StoreItemStorage {
  /// Merges what a refresh changed into an item that was changed meanwhile, field by field.
  ///
  /// A field is one of the item's JSON, also of an object inside it.
  ///
  /// - Parameters:
  ///   - sent: The item that was refreshed.
  ///   - refreshed: The result.
  ///   - stored: The item that is stored now.
  /// - Returns: The stored item with the fields that the refresh changed; `nil` when it changed
  ///   none, when others have changed one of these fields to something else, when the two are not
  ///   of one user, or when the item is not stored as JSON.
  func merge(_ sent: Item, _ refreshed: Item, into stored: Item) -> Item? {
    // Without an identifier, nothing shows that the stored item is not of another user, who signed
    // in meanwhile and has some fields in common.
    guard let user = UserIdentifier(of: stored), user == UserIdentifier(of: sent),
      let before = json(of: sent), let after = json(of: refreshed), before != after,
      let merged = json(of: stored)?.applying(before, after),
      let bytes = try? JSONEncoder().encode(merged),
      let item = try? item(from: SecretBytes(bytes)),
      // Not everything of an item has to be in its JSON.
      json(of: item) == merged
    else { return nil }
    return item
  }

  private func json(of item: Item) -> JSONValue? {
    guard let bytes = try? bytes(of: item) else { return nil }
    return try? JSONDecoder().decode(JSONValue.self, from: bytes.sharedData)
  }
}

/// A value of JSON; arrays are equal in any order, because that of a set is another each time.
private enum JSONValue: Codable, Hashable {
  case null
  case bool(Bool)
  case number(Decimal)
  /// A number that is too large or too small for the other ones.
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Decimal.self) {
      self = .number(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }

  static func == (left: JSONValue, right: JSONValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.double(let left), .double(let right)): left == right
    case (.string(let left), .string(let right)): left == right
    case (.array(let left), .array(let right)):
      counts(of: left) == counts(of: right)
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }

  private static func counts(of values: [JSONValue]) -> [JSONValue: Int] {
    Dictionary(values.map { ($0, 1) }, uniquingKeysWith: +)
  }

  func hash(into hasher: inout Hasher) {
    switch self {
    case .null: break
    case .bool(let value): hasher.combine(value)
    case .number(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value)
    case .string(let value): hasher.combine(value)
    case .array(let values): hasher.combine(values.reduce(0) { $0 &+ $1.hashValue })
    case .object(let value): hasher.combine(value)
    }
  }

  /// Returns these fields with the changes between two others; `nil` when a field that differs
  /// between those is neither here as it was, nor changed in the same way.
  func applying(_ before: JSONValue, _ after: JSONValue) -> JSONValue? {
    guard case .object(var fields) = self, case .object(let before) = before,
      case .object(let after) = after
    else { return nil }
    for name in Set(before.keys).union(after.keys)
    where before[name] != after[name] && fields[name] != after[name] {
      if fields[name] == before[name] {
        fields[name] = after[name]
      } else {
        guard let own = fields[name], let before = before[name], let after = after[name],
          let merged = own.applying(before, after)
        else { return nil }
        fields[name] = merged
      }
    }
    return .object(fields)
  }
}
