import SessionToolsBase

/// A promise that was not kept: which, what was expected, and what was seen instead.
///
/// Values are told by their label and length, never by their bytes.
public struct ConformanceFailure: Error, Sendable {
  /// The check that found it.
  public let check: String
  /// What a store or container promises, and this one did not keep.
  public let promise: String
  /// The kind of calls that were made, where the check is made with both.
  public let face: Face?
  /// What should have been.
  public let expected: String
  /// What was.
  public let seen: String
  /// The error that was seen, if there was one; it is not part of the description.
  public let underlying: (any Error)?
}

extension ConformanceFailure: CustomStringConvertible {
  /// All of it, in one line.
  public var description: String {
    let calls = face.map { " (\($0) calls)" } ?? ""
    return "\(check)\(calls): expected \(expected), seen: \(seen). The promise: \(promise)"
  }
}

/// What a check expected and saw, before it is known which check that was.
struct Finding: Error {
  let expected: String
  let seen: String
  var underlying: (any Error)?

  init(expected: String, seen: String, underlying: (any Error)? = nil) {
    self.expected = expected
    self.seen = seen
    self.underlying = underlying
  }

  init(expected: String, seen error: any Error) {
    self.init(expected: expected, seen: error.told, underlying: error)
  }

  /// As the failure of a check.
  static func failure(
    _ error: any Error, of check: String, promise: String, face: Face?
  ) -> ConformanceFailure {
    let finding = error as? Finding ?? Finding(expected: "no error", seen: error)
    return ConformanceFailure(
      check: check, promise: promise, face: face, expected: finding.expected, seen: finding.seen,
      underlying: finding.underlying)
  }
}

extension Error {
  /// The error in words, without any value that a check stores.
  var told: String {
    guard let error = self as? StoreError else { return "an error of type \(type(of: self))" }
    let text = error.description
    // An error that shows values is another check's finding, and not repeated here.
    return text.contains(Sample.mark)
      ? "StoreError.\(error.code)" : "StoreError.\(error.code), “\(text)”"
  }
}

/// Throws unless something is so.
func expect(
  _ isSo: Bool, _ expected: @autoclosure () -> String, seen: @autoclosure () -> String
) throws {
  if !isSo { throw Finding(expected: expected(), seen: seen()) }
}
