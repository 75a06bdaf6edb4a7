import Foundation

/// Merges what a refresh changed into an item that was changed meanwhile, field by field.
enum FieldMerge {
  /// Returns the stored item with the fields that the refresh changed.
  ///
  /// A field is one of the item's JSON, also of an object inside it.
  ///
  /// - Returns: `nil` when others have changed one of these fields, as by another sign-in, and when
  ///   the items have no fields.
  static func merge<Item: Codable>(_ sent: Item, _ refreshed: Item, into stored: Item) -> Item? {
    guard let sent = JSONValue(sent), let refreshed = JSONValue(refreshed),
      let stored = JSONValue(stored), let merged = stored.applying(sent, refreshed),
      let json = try? JSONEncoder().encode(merged)
    else { return nil }
    return try? JSONDecoder().decode(Item.self, from: json)
  }
}

private enum JSONValue: Codable, Equatable {
  case null
  case bool(Bool)
  case number(Decimal)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Fails for an item that JSON cannot express.
  init?(_ item: some Encodable) {
    guard let json = try? JSONEncoder().encode(item),
      let value = try? JSONDecoder().decode(JSONValue.self, from: json)
    else { return nil }
    self = value
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Decimal.self) {
      self = .number(value)
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
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }

  /// Returns these fields with the changes between two others; `nil` when a field that differs
  /// between those is not here as it was.
  func applying(_ before: JSONValue, _ after: JSONValue) -> JSONValue? {
    guard case .object(var fields) = self, case .object(let before) = before,
      case .object(let after) = after
    else { return nil }
    for name in Set(before.keys).union(after.keys) where before[name] != after[name] {
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
