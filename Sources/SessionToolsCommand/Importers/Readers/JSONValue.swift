import Foundation

/// Any JSON value, for looking at members that a document has and a reader does not know.
enum JSONValue: Decodable {
  case null
  case truth(Bool)
  case number(Decimal)
  case text(String)
  case list([JSONValue])
  case object([String: JSONValue])

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    // A failed attempt only means another type; the last one throws for what is no JSON.
    if value.decodeNil() {
      self = .null
    } else if let truth = try? value.decode(Bool.self) {
      self = .truth(truth)
    } else if let text = try? value.decode(String.self) {
      self = .text(text)
    } else if let number = try? value.decode(Decimal.self) {
      self = .number(number)
    } else if let list = try? value.decode([JSONValue].self) {
      self = .list(list)
    } else {
      self = .object(try value.decode([String: JSONValue].self))
    }
  }

  /// Whether something of a person's may be in it: a text, or a number other than zero.
  ///
  /// Truth values are settings of a program.
  var hasText: Bool {
    switch self {
    case .null, .truth: false
    case .number(let number): number != 0
    case .text(let text): !text.isEmpty
    case .list(let values): values.contains(where: \.hasText)
    case .object(let members): members.values.contains(where: \.hasText)
    }
  }

  /// The members of an object, by their names; none of another value.
  var members: [String: JSONValue] { if case .object(let members) = self { members } else { [:] } }

  /// The values of a list; none of another value.
  var values: [JSONValue] { if case .list(let values) = self { values } else { [] } }

  /// A text that is not empty; `nil` for another value.
  var string: String? { if case .text(let text) = self, !text.isEmpty { text } else { nil } }

  /// Returns the names of an object's members that have text and are not known, in their order.
  func unknown(but known: Set<String>) -> [String] {
    members.filter { !known.contains($0.key) && $0.value.hasText }.keys.sorted()
  }
}
