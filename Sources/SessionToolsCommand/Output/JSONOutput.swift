import ArgumentParser
import Foundation
import SessionToolsBase

/// `--json`, for the commands that have it.
struct JSONOption: ParsableArguments {
  @Flag(name: .long, help: "Write one line of JSON with sorted keys, in the form above.")
  var json = false

  /// Writes a value as one line.
  func write(_ value: some Encodable) throws {
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
}

/// An optional value that is written as `null`, so that every object has all its keys.
@propertyWrapper
struct Nullable<Value: Encodable>: Encodable {
  var wrappedValue: Value?

  init(wrappedValue: Value?) {
    self.wrappedValue = wrappedValue
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
  }
}

extension Nullable: Sendable where Value: Sendable {}

/// The name of an item as JSON.
struct ItemOutput: Encodable {
  @Nullable private var group: String?
  private let identifier: String
  @Nullable private var install: String?
  private let service: String

  init(_ name: ItemName) {
    group = name.namespace.accessGroup
    identifier = name.identifier
    install = name.namespace.install?.rawValue
    service = name.namespace.service
  }
}

extension String {
  /// The JSON text with an escape, such as `\u009b`, for every control that JSON allows in strings.
  var escapingControlsInJSON: String {
    var escaped = ""
    for scalar in unicodeScalars {
      guard scalar != "\n", scalar.actsOnTerminals else {
        escaped.unicodeScalars.append(scalar)
        continue
      }
      for unit in Character(scalar).utf16 {
        let digits = String(unit, radix: 16)
        escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      }
    }
    return escaped
  }
}
