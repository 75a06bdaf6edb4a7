/// A change to the code that some test must catch.
struct Mutant: Encodable {
  enum Kind: String, Encodable {
    /// A comparison, a negation or a condition gives the opposite result.
    case inverted
    /// A check never fails: a guard lets everything pass, an `if` is never true.
    case removed
    /// `<` instead of `<=` and so on: the comparison is wrong for equal sides.
    case boundary
    /// A sync, a check, a wipe or a truncation does not happen.
    case skipped
  }

  /// The number that activates it in this build.
  let number: Int
  /// The name, which stays the same in later builds while its function is unchanged.
  let name: String
  let kind: Kind
  let file: String
  let line: Int
  /// The code, on one line.
  let code: String
}
