import SessionToolsBase

/// A JSON object in one line, with a list that is written while it is made: it may have millions of
/// elements.
struct JSONList {
  /// The number of bytes from which on the text is written.
  private static let maximumByteCount = 64 << 10

  private var text: String
  private var isEmpty = true

  /// Begins an object.
  ///
  /// - Parameters:
  ///   - name: The list's key.
  ///   - head: An object with what is before the list.
  /// - Throws: `unencodable`.
  init(_ name: String, after head: some Encodable) throws(StoreError) {
    let head = try JSONOption.text(of: head).dropLast()
    text = "\(head)\(head == "{" ? "" : ",")\"\(name)\":["
  }

  /// Adds an element.
  ///
  /// - Throws: `unencodable`; as writing to standard output.
  mutating func add(_ element: some Encodable) throws(StoreError) {
    if !isEmpty { text += "," }
    isEmpty = false
    text += try JSONOption.text(of: element)
    guard text.utf8.count >= Self.maximumByteCount else { return }
    try StandardOutput.write(text)
    text = ""
  }

  /// Ends the object.
  ///
  /// - Parameter tail: An object with what is behind the list.
  /// - Throws: `unencodable`; as writing to standard output.
  mutating func end(before tail: some Encodable) throws(StoreError) {
    let tail = try JSONOption.text(of: tail).dropFirst()
    try StandardOutput.write("\(text)]\(tail == "}" ? "" : ",")\(tail)\n")
  }
}
