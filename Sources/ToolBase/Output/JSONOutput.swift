import ArgumentParser
import Foundation
import SessionToolsBase

/// `--json`, for the commands that have it.
package struct JSONOption: ParsableArguments {
  @Flag(name: .long, help: "Write one line of JSON with sorted keys, in the form above.")
  package var json = false

  /// Writes a value as one line.
  package func write(_ value: some Encodable) throws {
    try StandardOutput.write(Self.text(of: value) + "\n")
  }

  /// Returns a value in one line.
  ///
  /// - Throws: `unencodable`.
  static func text(of value: some Encodable) throws(StoreError) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return String(decoding: try encoder.encode(value), as: UTF8.self).escapingControlsInJSON
    } catch {
      throw StoreError(
        .unencodable, store: "standard output", reason: "\(error)", underlying: error)
    }
  }

  package init() {}
}
