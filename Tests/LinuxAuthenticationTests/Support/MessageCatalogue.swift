import Foundation

/// Translated texts in the form that gettext reads, a `.mo` file.
///
/// Source: GNU gettext manual, "The Format of GNU MO Files".
struct MessageCatalogue {
  struct Text {
    let singular: String
    let plural: String?
    let translations: [String]

    init(_ singular: String, _ plural: String?, translations: [String]) {
      self.singular = singular
      self.plural = plural
      self.translations = translations
    }
  }

  let texts: [Text]

  private var entries: [(original: String, translation: String)] {
    let head =
      "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"
    let texts = texts.map {
      ($0.singular + ($0.plural.map { "\0\($0)" } ?? ""), $0.translations.joined(separator: "\0"))
    }
    return ([("", head)] + texts).sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
  }

  private var content: Data {
    let entries = entries
    let tableByteCount = entries.count * 8
    let headByteCount = 28
    var texts = Data()
    var table: [UInt32] = []
    for text in entries.map(\.original) + entries.map(\.translation) {
      table.append(UInt32(text.utf8.count))
      table.append(UInt32(headByteCount + 2 * tableByteCount + texts.count))
      texts += Data(text.utf8) + [0]
    }
    let head: [UInt32] = [
      0x9504_12DE, 0, UInt32(entries.count), UInt32(headByteCount),
      UInt32(headByteCount + tableByteCount), 0, 0,
    ]
    return (head + table).reduce(into: Data()) { content, number in
      content += (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    } + texts
  }

  /// Writes the file where `bindtextdomain` with the directory finds it.
  func write(domain: String, language: String, into directory: String) throws {
    let place = "\(directory)/\(language)/LC_MESSAGES"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    try content.write(to: URL(filePath: "\(place)/\(domain).mo"))
  }
}
