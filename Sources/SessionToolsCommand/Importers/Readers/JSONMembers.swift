import Foundation

/// The names of the members of a JSON object, with those that are there twice.
///
/// Foundation's decoder takes one of two members of the same name, and passes over the other.
struct JSONMembers {
  /// The names, in the order of the text.
  let names: [String]

  /// The first name that is there more than once.
  var repeated: String? {
    var seen: Set<String> = []
    return names.first { !seen.insert($0).inserted }
  }

  /// Reads a text; `nil` if it is not an object in JSON.
  init?(of text: Data) {
    // What is not JSON ends here, so that the walk below needs to know no syntax.
    guard (try? JSONDecoder().decode(AnyMembers.self, from: text)) != nil else { return nil }
    var names: [String] = []
    var depth = 0
    var isName = false
    var position = text.startIndex
    while position < text.endIndex {
      switch text[position] {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        isName = depth == 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ","): isName = depth == 1
      case UInt8(ascii: ":") where depth == 1: isName = false
      case UInt8(ascii: "\""):
        let end = Self.endOfString(in: text, from: position)
        if isName {
          guard let name = try? JSONDecoder().decode(String.self, from: text[position..<end])
          else { return nil }
          names.append(name)
        }
        position = end
        continue
      default: break
      }
      position += 1
    }
    self.names = names
  }

  /// Any object, whatever its members are.
  private struct AnyMembers: Decodable {
    private struct Name: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }

      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
      _ = try decoder.container(keyedBy: Name.self)
    }
  }

  /// Returns the position behind a string's closing quote.
  private static func endOfString(in text: Data, from start: Int) -> Int {
    var position = start + 1
    while position < text.endIndex, text[position] != UInt8(ascii: "\"") {
      position += text[position] == UInt8(ascii: "\\") ? 2 : 1
    }
    return min(position + 1, text.endIndex)
  }
}
