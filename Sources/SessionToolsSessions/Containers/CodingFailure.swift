import SecretStores
/// Why an item could not be coded, reported without any of its content.
///
/// The texts of Swift's coding errors may quote the input, and so may dictionary keys in a coding
/// path; neither is repeated.
struct CodingFailure {
  private let error: any Error
  private let type: Any.Type

  init(_ error: any Error, of type: Any.Type) {
    self.error = error
    self.type = type
  }

  func asDecoding(of name: ItemName) -> StoreError {
    // An error of a custom coding is more precise, such as that of a damaged envelope.
    if let error = error as? StoreError { return error }
    return StoreError(
      .undecodable, store: "\(name)",
      reason: "the stored item is not a \(type)\(decodingDetail)",
      remedy: "It was not changed: decode it with the type it was stored as, or replace it",
      underlying: error)
  }

  func asEncoding(of name: ItemName) -> StoreError {
    if let error = error as? StoreError { return error }
    let path = (error as? EncodingError).map { " at \(Self.text(of: Self.path(of: $0)))" } ?? ""
    return StoreError(
      .unencodable, store: "\(name)",
      reason: "the \(type) could not be encoded\(path), so nothing was stored",
      underlying: error)
  }

  private var decodingDetail: String {
    switch error as? DecodingError {
    case .typeMismatch(let expected, let context):
      ": expected \(expected) at \(Self.text(of: context.codingPath))"
    case .valueNotFound(let expected, let context):
      ": no \(expected) at \(Self.text(of: context.codingPath))"
    case .keyNotFound(let key, let context):
      ": no value at \(Self.text(of: context.codingPath + [key]))"
    case .dataCorrupted(let context):
      ": malformed at \(Self.text(of: context.codingPath))"
    case .none: ""
    @unknown default: ""
    }
  }

  private static func path(of error: EncodingError) -> [any CodingKey] {
    switch error {
    case .invalidValue(_, let context): context.codingPath
    @unknown default: []
    }
  }

  /// Returns the path as source code spells it: `tokens[0].value`.
  private static func text(of path: [any CodingKey]) -> String {
    guard !path.isEmpty else { return "the top level" }
    return path.reduce(into: "") { text, key in
      if let index = key.intValue {
        text += "[\(index)]"
      } else {
        text += (text.isEmpty ? "" : ".") + (isDeclared(key) ? key.stringValue : "*")
      }
    }
  }

  /// Returns whether the key is a plain enum case, and so part of the source code.
  ///
  /// Other keys, such as those of dictionaries, are content.
  private static func isDeclared(_ key: any CodingKey) -> Bool {
    let mirror = Mirror(reflecting: key)
    return mirror.displayStyle == .enum && mirror.children.isEmpty
  }
}
