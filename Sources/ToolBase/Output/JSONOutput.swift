import ArgumentParser
import Foundation
import SessionToolsBase

/// `--json`, for the commands that have it.
package struct JSONOption: ParsableArguments {
  @Flag(name: .long, help: "Write one line of JSON with sorted keys, in the form above.")
  package var json = false

  /// Writes a value as one line.
  package func write(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(value), as: UTF8.self)
    try StandardOutput.write(text.escapingControlsInJSON + "\n")
  }

  package init() {}
}
