import Foundation
import SessionToolsDBus

/// A text that equals only the same bytes; a `String` also equals the same text in another form.
struct ExactText: Hashable, Comparable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: ExactText, right: ExactText) -> Bool {
    left.text.utf8.elementsEqual(right.text.utf8)
  }

  static func < (left: ExactText, right: ExactText) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }
}

extension ExactText: Codable {
  init(from decoder: any Decoder) throws { text = try String(from: decoder) }
  func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }
}

/// The attributes of an item, or those that are searched for.
struct Attributes: Equatable {
  var texts: [ExactText: ExactText] = [:]

  /// Returns whether an item that has these is found by others: it has each of them.
  func match(_ wanted: Attributes) -> Bool {
    wanted.texts.allSatisfy { texts[$0.key] == $0.value }
  }
}

extension Attributes {
  /// Reads a value of type `a{ss}`; empty for any other.
  init(_ value: Variant) {
    guard value.type == "a{ss}" else { return }
    for entry in value.children.map(\.children) {
      if let name = entry[0].text, let text = entry[1].text {
        texts[ExactText(name)] = ExactText(text)
      }
    }
  }

  var variant: Variant {
    .array(
      texts.map { .entry(.string($0.key.text), .string($0.value.text)) }, of: "{ss}")
  }
}

/// As pairs: the names of an object in JSON are compared as texts.
extension Attributes: Codable {
  init(from decoder: any Decoder) throws {
    for pair in try [[ExactText]](from: decoder) where pair.count == 2 { texts[pair[0]] = pair[1] }
  }

  func encode(to encoder: any Encoder) throws {
    try texts.sorted { $0.key < $1.key }.map { [$0.key, $0.value] }.encode(to: encoder)
  }
}

/// What is known of an item besides its secret, as it is stored.
struct ItemDescription: Codable, Equatable {
  var label = ExactText("")
  var attributes = Attributes()
  /// The type of the secret, as the client that stored it named it.
  var contentType = "text/plain"
  /// Milliseconds since 1970.
  var created: UInt64 = 0
  var modified: UInt64 = 0
  /// How many values the secret is in, if one is too small for it.
  var parts: Int?
}

/// What is known of a collection, as it is stored.
struct CollectionDescription: Codable, Equatable {
  var label: ExactText
  /// Milliseconds since 1970.
  var created: UInt64 = 0
  var modified: UInt64 = 0

  init(label: String, created: UInt64 = 0, modified: UInt64 = 0) {
    self.label = ExactText(label)
    self.created = created
    self.modified = modified
  }
}
