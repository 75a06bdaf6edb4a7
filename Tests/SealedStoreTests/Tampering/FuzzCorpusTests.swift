import FuzzTargets
import Testing

/// What the fuzzer has found worth keeping; `Tests/Fuzzing/run` looks for more.
@Suite struct FuzzCorpusTests {
  @Test(arguments: FuzzTarget.store)
  func `no input of the corpus breaks a promise`(target: FuzzTarget) throws {
    let inputs = try target.corpus()
    #expect(inputs.count >= 10)
    for input in inputs {
      do {
        try target.check(input.bytes)
      } catch {
        Issue.record("Corpus/\(target)/\(input.name): \(error)")
      }
    }
  }
}
