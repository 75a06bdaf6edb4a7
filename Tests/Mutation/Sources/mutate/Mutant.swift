/// One change to the code that some test has to notice.
struct Mutant: Encodable {
  enum Kind: String, Encodable {
    /// A comparison, a negation or a condition answers the opposite.
    case inverted
    /// A check never objects: a guard lets everything pass, an `if` never sees its case.
    case removed
    /// `<` for `<=` and so on: the two sides being equal is on the wrong side.
    case boundary
    /// A sync, a check, a wipe or a cut does not happen.
    case skipped
  }

  /// The number that switches it on in this build.
  let number: Int
  /// Names it from one build to the next, as long as its function reads the same.
  let name: String
  let kind: Kind
  let file: String
  let line: Int
  /// The code, on one line.
  let code: String
}
