import SessionToolsBase
import Testing

/// Runs the command in the remedy of an error.
func runRemedy(
  of error: StoreError, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let remedy = try #require(error.remedy, sourceLocation: sourceLocation)
  // A remedy may name several alternatives; the command is the last.
  let lead = #/(^|, or )[Rr]un /#
  let start = try #require(
    remedy.matches(of: lead).last?.range.upperBound, "no command in: \(remedy)",
    sourceLocation: sourceLocation)
  let command = String(remedy[start...])
  let result = try run("sh", "-c", command)
  #expect(result.status == 0, "\(command): \(result.errors)", sourceLocation: sourceLocation)
}
