extension String {
  /// Returns the text in lines of at most a number of characters, broken at spaces.
  ///
  /// - Parameters:
  ///   - width: The most characters in a line.
  ///   - indentation: How far all lines but the first are indented.
  ///   - breaksWords: Whether a word that is longer than a line is broken; otherwise it has a line
  ///     of its own that is too long, so that a path can still be copied.
  /// - Returns: The lines, without spaces at their ends; one at least.
  func wrapped(to width: Int, indentation: Int = 0, breaksWords: Bool = false) -> [String] {
    guard count > width, width > indentation else { return [self] }
    let indent = String(repeating: " ", count: indentation)
    var lines: [String] = []
    var line = ""
    // Spaces that follow each other are part of a name, and stay where they do not end a line.
    for (number, word) in split(separator: " ", omittingEmptySubsequences: false).enumerated() {
      var word = word
      if number > 0 {
        let isTooLong = breaksWords && word.count > width - indentation
        if line.count + 1 + word.count <= width || isTooLong && line.count + 1 < width {
          line += " "
        } else {
          lines.append(line)
          line = indent
        }
      }
      while breaksWords, line.count + word.count > width {
        let part = word.prefix(width - line.count)
        lines.append(line + part)
        word = word.dropFirst(part.count)
        line = indent
      }
      line += word
    }
    return (lines + [line]).map(\.withoutSpacesAtEnd)
  }

  /// The text without the spaces at its end.
  var withoutSpacesAtEnd: String {
    String(reversed().drop { $0 == " " }.reversed())
  }

  /// Returns the text padded with spaces to a length.
  func padded(to count: Int) -> String {
    self + String(repeating: " ", count: max(0, count - self.count))
  }
}
