import SessionToolsFuzzTargets
import SessionToolsProgramFuzzTargets
import SessionToolsTestThreads
import Testing

/// The inputs that are kept from the fuzzer; `Tests/Tools/Fuzzing/run` looks for more.
@Suite(.onOwnThread) struct FuzzCorpusTests {
  @Test(arguments: FuzzTarget.program)
  func `no input of the corpus breaks a promise`(target: FuzzTarget) throws {
    let inputs = try target.corpus()
    #expect(inputs.count >= 10)
    #expect(target.problems(with: inputs) == [])
  }
}
