import SessionToolsBase

/// A promise that was not kept, with what was expected and what was seen instead.
///
/// Values are described by their label and length, never by their bytes.
public struct ConformanceFailure: Error, Sendable {
  /// The check that found it.
  public let check: String
  /// The promise of stores or containers that this one did not keep.
  public let promise: String
  /// The kind of calls that were made, if the check is run with both kinds.
  public let callKind: StoreConformance.CallKind?
  /// A description of what was expected.
  public let expected: String
  /// A description of what was seen instead.
  public let seen: String
  /// The error that was seen, if there was one; it is not part of the description.
  public let underlying: (any Error)?
}

extension ConformanceFailure: CustomStringConvertible {
  /// A description of the whole failure in one line.
  public var description: String {
    let calls = callKind.map { " (\($0) calls)" } ?? ""
    return "\(check)\(calls): expected \(expected), seen: \(seen). The promise: \(promise)"
  }
}

extension ConformanceFailure {
  /// The failures of several checks that were run.
  public struct List: Error, Sendable, CustomStringConvertible {
    /// The failures, one for each check that failed.
    public let failures: [ConformanceFailure]

    /// A line for each failure.
    public var description: String {
      failures.map(\.description).joined(separator: "\n")
    }
  }
}

/// An expectation of a check and what the check saw, without the name of the check.
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
    self.init(expected: expected, seen: error.described, underlying: error)
  }

  /// Returns an error as the failure of a check.
  static func failure(
    _ error: any Error, of check: String, promise: String, kind: CallKind?
  ) -> ConformanceFailure {
    let finding = error as? Finding ?? Finding(expected: "no error", seen: error)
    return ConformanceFailure(
      check: check, promise: promise, callKind: kind, expected: finding.expected,
      seen: finding.seen,
      underlying: finding.underlying)
  }
}

extension Error {
  /// The error in words, without any value that a check stores.
  var described: String {
    guard let error = self as? StoreError else { return "an error of type \(type(of: self))" }
    let text = error.description
    // Another check finds errors that show values; such a text is not repeated here.
    return text.contains(Sample.mark)
      ? "StoreError.\(error.code)" : "StoreError.\(error.code), “\(text)”"
  }
}

/// Throws a finding unless a condition holds.
func expect(
  _ isSo: Bool, _ expected: @autoclosure () -> String, seen: @autoclosure () -> String
) throws {
  if !isSo { throw Finding(expected: expected(), seen: seen()) }
}
