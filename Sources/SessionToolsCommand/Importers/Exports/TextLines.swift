import SecretStores

/// The lines of a text file that another program keeps.
struct TextLines {
  private let name: String
  private let remedy: String
  /// The lines with their numbers, from 1, without what ends them.
  let numbered: [(number: Int, line: String)]

  /// - Parameters:
  ///   - text: The entire file.
  ///   - kind: The kind of file that it has to be.
  ///   - name: The name of the file in errors.
  ///   - remedy: What to do about a line that cannot be read.
  /// - Throws: `undecodable` for a file of another kind, or one that is not UTF-8.
  init(
    _ text: SecretBytes, is kind: DocumentKind, name: String, remedy: String
  ) throws(StoreError) {
    let bytes = text.copyBytes()
    try DocumentKind(of: bytes).check(is: kind, name: name)
    self.name = name
    self.remedy = remedy
    let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    guard let content = String(validating: content, as: UTF8.self) else {
      throw StoreError(
        .undecodable, store: name, reason: "it is not UTF-8",
        remedy: "Convert it: iconv -f WINDOWS-1252 -t UTF-8, if that is its encoding, into a pipe, "
          + "with - for the file")
    }
    numbered = content.split(omittingEmptySubsequences: false) {
      ["\n", "\r\n", "\r"].contains($0)
    }
    .enumerated().map { ($0.offset + 1, String($0.element)) }
  }

  func undecodable(_ reason: String, line: Int) -> StoreError {
    StoreError(.undecodable, store: "\(name), line \(line)", reason: reason, remedy: remedy)
  }
}
