import SecretStores

/// A strict reader of the XML that programs write for programs: elements, attributes and text in
/// UTF-8.
///
/// A document type is refused, and with it every entity of a document's own, so that a document
/// cannot grow while it is read and cannot refer to another file. The reader is here because
/// Foundation's needs libxml2, which no other part of this package is linked with.
///
/// Source: Extensible Markup Language (XML) 1.0, fifth edition.
struct XMLReader {
  /// A part of the document.
  enum Part {
    case start(_ element: String, attributes: [String: String])
    case text(String)
    case end
  }

  private static let maximumDepth = 200

  private let name: String
  private let bytes: [UInt8]
  private var offset = 0
  private var open: [String] = []
  private var hasRoot = false
  /// Whether the element that was started last ends at once: `<a/>`.
  private var endsAtOnce = false
  /// The start of the part that was read last, and its line.
  private var partOffset = 0
  private var partLine = 1

  /// - Parameters:
  ///   - bytes: The entire document.
  ///   - name: The name of the document in errors.
  init(_ bytes: [UInt8], name: String) {
    self.name = name
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
  }

  /// Reads the next part; returns `nil` at the end.
  ///
  /// - Throws: `undecodable` with the line.
  mutating func next() throws(StoreError) -> Part? {
    (partLine, partOffset) = (line, offset)
    if endsAtOnce {
      endsAtOnce = false
      open.removeLast()
      return .end
    }
    while offset < bytes.count {
      if bytes[offset] != UInt8(ascii: "<") {
        let text = try text(until: UInt8(ascii: "<"))
        if !open.isEmpty { return .text(text) }
        guard text.utf8.allSatisfy(Self.isSpace) else {
          throw undecodable("there is text outside of the document's element")
        }
      } else if skip("<!--") {
        _ = try content(until: "-->")
      } else if skip("</") {
        let element = try word()
        skipSpace()
        guard skip(">"), open.popLast() == element else {
          throw undecodable("an element does not end where it should")
        }
        return .end
      } else if !open.isEmpty, skip("<![CDATA[") {
        let content = try content(until: "]]>")
        return .text(try decoded(Self.withLineFeeds(content)))
      } else if !hasRoot, skip("<?xml") {
        _ = try content(until: "?>")
      } else {
        return try start()
      }
    }
    guard hasRoot, open.isEmpty else { throw undecodable("the document is not complete") }
    return nil
  }

  /// Reads the text of the element that was started last, and its end.
  ///
  /// - Throws: `undecodable` with the line, also for an element within it.
  mutating func textToEnd() throws(StoreError) -> String {
    var text = ""
    while true {
      switch try next() {
      case .text(let more): text += more
      case .end: return text
      case .start, nil: throw undecodable("there is an element where text should be")
      }
    }
  }

  /// Skips the rest of the element that was started last.
  ///
  /// - Throws: As ``next()``.
  mutating func skipToEnd() throws(StoreError) {
    let depth = open.count
    while open.count >= depth { _ = try next() }
  }

  /// Returns an error about the part that was read last, without its content.
  func undecodable(_ reason: String) -> StoreError {
    StoreError(.undecodable, store: "\(name), line \(line)", reason: reason)
  }

  /// The line that reading has reached, from 1.
  var line: Int {
    partLine + bytes[partOffset..<offset].count(where: { $0 == UInt8(ascii: "\n") })
  }

  // MARK: Elements

  private mutating func start() throws(StoreError) -> Part {
    _ = skip("<")
    guard !hasRoot || !open.isEmpty else { throw undecodable("there is a second document") }
    guard open.count < Self.maximumDepth else {
      throw undecodable("there are more than \(Self.maximumDepth) elements within each other")
    }
    let element = try word()
    var attributes: [String: String] = [:]
    while true {
      let hasSpace = skipSpace()
      if skip("/>") {
        endsAtOnce = true
        break
      }
      if skip(">") { break }
      guard hasSpace else { throw undecodable("an element's start does not end") }
      let attribute = try word()
      skipSpace()
      guard skip("=") else { throw undecodable("an attribute has no value") }
      skipSpace()
      guard offset < bytes.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(bytes[offset])
      else { throw undecodable("the value of an attribute is not quoted") }
      let quote = bytes[offset]
      offset += 1
      let value = try text(until: quote)
      guard offset < bytes.count else {
        throw undecodable("the value of an attribute does not end")
      }
      offset += 1
      guard attributes.updateValue(value, forKey: attribute) == nil else {
        throw undecodable("an element has an attribute twice")
      }
    }
    hasRoot = true
    open.append(element)
    return .start(element, attributes: attributes)
  }

  /// Reads the name of an element or an attribute: ASCII letters, digits and a few signs.
  private mutating func word() throws(StoreError) -> String {
    let word = bytes[offset...].prefix { byte in
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
        || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "_:-.".utf8.contains(byte)
    }
    guard let first = word.first, first >= UInt8(ascii: "A") else {
      throw undecodable("this is not the XML that an export has")
    }
    offset = word.endIndex
    return String(decoding: word, as: UTF8.self)
  }

  // MARK: Text

  /// Reads text with references up to a byte, or to the end of the document.
  private mutating func text(until end: UInt8) throws(StoreError) -> String {
    let raw = Self.withLineFeeds(bytes[offset...].prefix { $0 != end })
    var rest = raw[...]
    var text: [UInt8] = []
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "&") else {
        text.append(byte)
        continue
      }
      // The longest reference has ten characters.
      guard let close = rest.prefix(11).firstIndex(of: UInt8(ascii: ";")),
        let character = Self.character(String(decoding: rest[..<close], as: UTF8.self))
      else { throw undecodable("a reference stands for no character") }
      text += Array(String(character).utf8)
      rest = rest[(close + 1)...]
    }
    let decoded = try decoded(text)
    offset += bytes[offset...].prefix { $0 != end }.count
    return decoded
  }

  /// Returns the character of a reference, without its `&` and `;`.
  private static func character(_ reference: String) -> Character? {
    let named: [String: Character] = [
      "lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'",
    ]
    if let character = named[reference] { return character }
    guard reference.first == "#" else { return nil }
    let isHexadecimal = reference.dropFirst().first == "x"
    let digits = reference.dropFirst(isHexadecimal ? 2 : 1)
    // `UInt32` would accept a sign.
    guard digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
      let number = UInt32(digits, radix: isHexadecimal ? 16 : 10), number > 0,
      let scalar = Unicode.Scalar(number)
    else { return nil }
    return Character(scalar)
  }

  /// Returns text in which every line ends with a line feed, as the specification demands.
  private static func withLineFeeds(_ raw: ArraySlice<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(raw.count)
    var wasCarriageReturn = false
    for byte in raw {
      let isCarriageReturn = byte == UInt8(ascii: "\r")
      if isCarriageReturn {
        text.append(UInt8(ascii: "\n"))
      } else if byte != UInt8(ascii: "\n") || !wasCarriageReturn {
        text.append(byte)
      }
      wasCarriageReturn = isCarriageReturn
    }
    return text
  }

  private func decoded(_ text: [UInt8]) throws(StoreError) -> String {
    guard let text = String(validating: text, as: UTF8.self) else {
      throw undecodable("it is not UTF-8")
    }
    return text
  }

  // MARK: Bytes

  private static func isSpace(_ byte: UInt8) -> Bool { " \t\r\n".utf8.contains(byte) }

  /// Skips white space, and returns whether there was any.
  @discardableResult
  private mutating func skipSpace() -> Bool {
    let count = bytes[offset...].prefix(while: Self.isSpace).count
    offset += count
    return count > 0
  }

  /// Skips a text if it is next, and returns whether it was.
  private mutating func skip(_ text: String) -> Bool {
    guard bytes[offset...].starts(with: text.utf8) else { return false }
    offset += text.utf8.count
    return true
  }

  /// Returns what is before a text, and skips both.
  private mutating func content(until text: String) throws(StoreError) -> ArraySlice<UInt8> {
    let end = Array(text.utf8)
    let start = offset
    while offset + end.count <= bytes.count {
      if bytes[offset] == end[0], bytes[offset...].starts(with: end) {
        offset += end.count
        return bytes[start..<offset - end.count]
      }
      offset += 1
    }
    throw undecodable("a comment or a section is not closed")
  }
}
