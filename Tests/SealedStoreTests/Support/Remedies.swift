import SessionToolsBase
import Testing

/// Runs the command that an error tells a person to run.
func runRemedy(
  of error: StoreError, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let remedy = try #require(error.remedy, sourceLocation: sourceLocation)
  // A sentence may name more than one way; the command is the last one.
  let lead = #/(^|, or )[Rr]un /#
  let start = try #require(
    remedy.matches(of: lead).last?.range.upperBound, "no command in: \(remedy)",
    sourceLocation: sourceLocation)
  let command = String(remedy[start...])
  let result = try run("sh", "-c", command)
  #expect(result.status == 0, "\(command): \(result.errors)", sourceLocation: sourceLocation)
}
