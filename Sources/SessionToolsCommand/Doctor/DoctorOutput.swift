import ArgumentParser
import SessionToolsBase

/// The output of `doctor` and of `auth doctor`.
struct DoctorOutput {
  let checks: [Check]

  init(checks: [Check]) {
    self.checks = checks
  }

  /// Writes the checks.
  ///
  /// - Throws: The worst problem's exit status, if there is a problem; any error of writing.
  func write(_ format: JSONOption) throws {
    let status = ExitStatus.worst(of: checks.map(\.exitStatus))
    if format.json {
      try format.write(Document(checks: checks, isFine: status == .done))
    } else {
      try StandardOutput.write(text)
    }
    guard status == .done else { throw ExitCode(status.rawValue) }
  }

  private struct Document: Encodable {
    let checks: [Check]
    let isFine: Bool
  }

  private var text: String {
    let start = (checks.map(\.name.count).max() ?? 0) + 11
    return checks.flatMap { lines(of: $0, start: start) }.map { $0 + "\n" }.joined()
  }

  /// Returns the lines of a check, whose finding and remedy are in a column of their own, or, on a
  /// narrow terminal, below its name.
  private func lines(of check: Check, start: Int) -> [String] {
    let head = check.status.rawValue.padded(to: 9) + check.name
    let finding = check.finding.withoutPasswords.escapingControls()
    let remedy = check.remedy?.escapingControls()
    guard StandardOutput.isTerminal, let width = StandardOutput.columnCount else {
      return [head.padded(to: start) + finding]
        + (remedy.map { ["".padded(to: start) + $0] } ?? [])
    }
    func wrapped(_ text: String, indentation: Int, breaksWords: Bool = true) -> [String] {
      text.wrapped(to: width, indentation: indentation, breaksWords: breaksWords)
    }
    let isNarrow = width - start < Self.narrowest
    let column = isNarrow ? 4 : start
    // A remedy is set off from a finding that may have several lines.
    let last = remedy.map {
      // It is copied, mostly a command with a long path.
      wrapped("".padded(to: column + 2) + $0, indentation: column + 2, breaksWords: false)
    }
    guard isNarrow else {
      return wrapped(head.padded(to: start) + finding, indentation: column) + (last ?? [])
    }
    let line = "\(head)  \(finding)"
    return
      (line.count <= width
      ? [line] : [head] + wrapped("".padded(to: column) + finding, indentation: column))
      + (last ?? [])
  }

  /// The least width of a column of findings.
  private static let narrowest = 30
}
