import SessionToolsBase

/// A value that checks store, with a label that may be shown.
struct Sample: Sendable {
  /// A part of every stored text: a message that contains it is never shown.
  static let mark = "c0nf1dent1al"

  let label: String
  let bytes: SecretBytes

  init(_ label: String, _ bytes: some Collection<UInt8>) {
    self.label = label
    self.bytes = SecretBytes(Array(bytes))
  }

  /// Creates a short text.
  init(_ label: String) {
    self.init(label, "\(Self.mark) \(label)".utf8)
  }

  /// Creates a value of a given size whose parts all differ.
  init(byteCount: Int) {
    label = "a value"
    // Twice as long each time: one step per byte takes seconds in a build without optimization.
    var bytes = (0..<1021).map { UInt8(truncatingIfNeeded: $0 &* 251 >> 3) }
    while bytes.count < byteCount { bytes += bytes }
    self.bytes = SecretBytes(Array(bytes.prefix(byteCount)))
  }

  /// The label and the length.
  var described: String { "“\(label)” (\(bytes.byteCount) bytes)" }
}

extension SecretBytes? {
  /// Describes the value, by its label if it is among the samples.
  func described(among samples: [Sample]) -> String {
    guard let bytes = self else { return "nil, as for an absent item" }
    return samples.first { $0.bytes == bytes }?.described
      ?? "another value of \(bytes.byteCount) bytes"
  }
}

extension ItemName {
  /// The name in words: short, and without characters that a terminal would not show.
  var described: String {
    let parts = [
      namespace.service, namespace.accessGroup, namespace.install?.rawValue, identifier,
    ]
    return parts.compactMap(\.self).map(\.described).joined(separator: " / ")
  }
}

extension String {
  /// The text as a literal, cut off if it is long.
  var described: String {
    let text = String(unicodeScalars.prefix(40))
      .unicodeScalars.map { $0.escaped(asASCII: true) }.joined()
    return "“\(text)\(unicodeScalars.count > 40 ? "…" : "")”"
  }
}

extension [ItemName] {
  /// The first few names in words.
  var described: String {
    isEmpty
      ? "no names"
      : prefix(4).map(\.described).joined(separator: ", ")
        + (count > 4 ? " and \(count - 4) more" : "")
  }
}
