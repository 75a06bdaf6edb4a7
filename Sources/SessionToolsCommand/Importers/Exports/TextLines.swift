import SecretStores

/// The lines of a text file that another program keeps.
struct TextLines {
  private let name: String
  /// The lines with their numbers, from 1, without what ends them.
  let numbered: [(number: Int, line: String)]

  /// - Parameters:
  ///   - text: The entire file.
  ///   - kind: The kind of file that it has to be.
  ///   - name: The name of the file in errors.
  /// - Throws: `undecodable` for a file of another kind, or one that is not UTF-8.
  init(_ text: SecretBytes, is kind: DocumentKind, name: String) throws(StoreError) {
    let bytes = text.copyBytes()
    try DocumentKind(of: bytes).check(is: kind, name: name)
    self.name = name
    let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    guard let content = String(validating: content, as: UTF8.self) else {
      throw StoreError(.undecodable, store: name, reason: "it is not UTF-8")
    }
    numbered = content.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
      .enumerated().map { ($0.offset + 1, String($0.element)) }
  }

  func undecodable(_ reason: String, line: Int) -> StoreError {
    StoreError(.undecodable, store: "\(name), line \(line)", reason: reason)
  }
}
