import Foundation

/// The members of a JSON object in an identity token, read strictly: each name is there once, and a
/// value has the type that it must have.
///
/// JSON readers differ in which of two members of one name they take, so a token with two could be
/// read differently elsewhere (RFC 7519, section 4).
struct ClaimSet {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private struct Members: Decodable {
    let values: KeyedDecodingContainer<Name>

    init(from decoder: any Decoder) throws {
      values = try decoder.container(keyedBy: Name.self)
    }
  }

  private let values: KeyedDecodingContainer<Name>
  /// The names of all members.
  let names: Set<String>

  /// Reads an object.
  ///
  /// - Parameters:
  ///   - json: The bytes of the object.
  ///   - name: What the object is called in messages.
  /// - Throws: `unreadable`.
  init(_ json: [UInt8], called name: String) throws(IdentityFault) {
    // Foundation's decoder would read UTF-16 as well, in which names(_:) would find no name twice.
    // Its errors may quote what it reads.
    guard json.first == UInt8(ascii: "{"), !json.contains(0),
      String(validating: json, as: UTF8.self) != nil,
      let members = try? JSONDecoder().decode(Members.self, from: Data(json)),
      let names = Self.names(json)
    else { throw .unreadable("has a \(name) that is not a JSON object") }
    guard Set(names).count == names.count else {
      throw .unreadable("has a \(name) in which a name stands twice")
    }
    (values, self.names) = (members.values, Set(names))
  }

  /// Returns the names of the members of an object that is valid JSON, in their order.
  private static func names(_ json: [UInt8]) -> [String]? {
    var names: [String] = []
    var (depth, position) = (0, 0)
    while position < json.count {
      switch json[position] {
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: "\""):
        let start = position
        position += 1
        while position < json.count, json[position] != UInt8(ascii: "\"") {
          position += json[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard position < json.count else { return nil }
        let next = json[(position + 1)...].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard depth == 1, next == UInt8(ascii: ":") else { break }
        // An escaped name is the same name.
        guard let name = try? JSONDecoder().decode(String.self, from: Data(json[start...position]))
        else { return nil }
        names.append(name)
      default: break
      }
      position += 1
    }
    return names
  }

  // MARK: - Values

  /// Returns the value of a member that may be absent or null.
  private func optional<Value: Decodable>(
    _ name: String, _ type: Value.Type
  ) throws(IdentityFault) -> Value? {
    do {
      return try values.decodeIfPresent(type, forKey: Name(stringValue: name))
    } catch {
      throw .unreadable("has a value of \(name) that has another type")
    }
  }

  func optionalText(_ name: String) throws(IdentityFault) -> String? {
    try optional(name, String.self)
  }

  /// Returns a finite number: readers of JSON know no other.
  func optionalNumber(_ name: String) throws(IdentityFault) -> Double? {
    try optional(name, Double.self)
  }

  func text(_ name: String) throws(IdentityFault) -> String {
    guard let text = try optionalText(name) else { throw .unreadable("has no \(name)") }
    return text
  }

  /// Returns the texts of a list, or one text as a list.
  func texts(_ name: String) throws(IdentityFault) -> [String] {
    if let text = try? text(name) { return [text] }
    guard let list = try optional(name, [String].self) else {
      throw .unreadable("has no \(name)")
    }
    return list
  }
}
