import SessionToolsFuzzTargets
import SessionToolsTestThreads
import Testing

/// Tests with the inputs that the fuzzer has kept; `Tests/Tools/Fuzzing/run` searches for more.
@Suite(.onOwnThread) struct FuzzCorpusTests {
  @Test(arguments: FuzzTarget.store)
  func `no input of the corpus breaks a promise`(target: FuzzTarget) throws {
    let inputs = try target.corpus()
    #expect(inputs.count >= 10)
    #expect(target.problems(with: inputs) == [])
  }
}
