import SecretStores

/// A strict reader of comma-separated values in UTF-8.
///
/// Source: RFC 4180. A line may also end with a line feed alone.
struct CSVReader {
  /// The line of the row that was read last, from 1.
  private(set) var line = 0

  private let name: String
  private var rest: ArraySlice<UInt8>
  private var nextLine = 1

  /// - Parameters:
  ///   - bytes: The entire text.
  ///   - name: The name of the text in errors.
  init(_ bytes: [UInt8], name: String) {
    self.name = name
    rest = bytes[...]
    // Spreadsheets write a byte order mark in front.
    if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest.removeFirst(3) }
  }

  /// Reads the next row that is not empty; returns `nil` at the end.
  ///
  /// Editors leave empty lines, most often at the end.
  ///
  /// - Throws: `undecodable` with the line.
  mutating func next() throws(StoreError) -> [String]? {
    while let first = rest.first, first == Self.lineFeed || rest.starts(with: [0x0D, 0x0A]) {
      rest.removeFirst(first == Self.lineFeed ? 1 : 2)
      nextLine += 1
    }
    guard !rest.isEmpty else { return nil }
    line = nextLine
    var fields: [String] = []
    while true {
      let bytes = rest.first == Self.quote ? try quotedField() : try plainField()
      guard let field = String(validating: bytes, as: UTF8.self) else {
        throw undecodable("it is not UTF-8")
      }
      fields.append(field)
      if rest.first == UInt8(ascii: ",") {
        rest.removeFirst()
        continue
      }
      if rest.first == Self.carriageReturn { rest.removeFirst() }
      guard let end = rest.popFirst() else { return fields }
      guard end == Self.lineFeed else {
        throw undecodable("a field goes on after its closing quote, or a line ends without one")
      }
      nextLine += 1
      return fields
    }
  }

  private static let quote = UInt8(ascii: "\"")
  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  private mutating func plainField() throws(StoreError) -> [UInt8] {
    let field = rest.prefix { byte in
      byte != UInt8(ascii: ",") && byte != Self.lineFeed && byte != Self.carriageReturn
    }
    guard !field.contains(Self.quote) else {
      throw undecodable("there is a quote in a field that does not begin with one")
    }
    rest = rest[field.endIndex...]
    return Array(field)
  }

  private mutating func quotedField() throws(StoreError) -> [UInt8] {
    rest.removeFirst()
    var field: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == Self.quote {
        guard rest.first == Self.quote else { return field }
        rest.removeFirst()
      }
      if byte == Self.lineFeed { nextLine += 1 }
      field.append(byte)
    }
    throw undecodable("a quote is not closed")
  }

  /// Returns an error about the row that was read last, without its content.
  func undecodable(_ reason: String) -> StoreError {
    StoreError(.undecodable, store: "\(name), line \(line)", reason: reason)
  }
}
