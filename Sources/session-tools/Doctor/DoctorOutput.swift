import ArgumentParser
import SessionToolsBase

/// The output of `doctor` and of `auth doctor`.
struct DoctorOutput {
  let checks: [Check]

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
    let width = checks.map(\.name.count).max() ?? 0
    return checks.map { check in
      let status = check.status.rawValue.padded(to: 9)
      let line = "\(status)\(check.name.padded(to: width + 2))\(check.finding.escapingControls())\n"
      guard let remedy = check.remedy else { return line }
      return line + "".padded(to: 9 + width + 2) + "\(remedy.escapingControls())\n"
    }.joined()
  }
}

extension String {
  /// Returns the text padded with spaces to a length.
  fileprivate func padded(to count: Int) -> String {
    self + String(repeating: " ", count: max(0, count - self.count))
  }
}
