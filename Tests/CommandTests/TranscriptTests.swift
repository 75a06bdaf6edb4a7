import TestSupport
import TestThreads
import Testing

@Suite(.onOwnThread) struct TranscriptTests {
  /// A sanitizer reserves more address space than one transcript allows.
  private static let all = Transcript.all(of: "CommandTests").filter {
    !isSanitized || $0.description != "pass-address-space"
  }

  @Test(arguments: all)
  func answersAsWritten(_ transcript: Transcript) throws {
    let replayed = try transcript.replayed(by: Tool())
    if Transcript.isBeingUpdated { return try transcript.replace(with: replayed) }
    #expect(replayed == transcript.lines)
  }

  @Test func thereAreTranscripts() {
    #expect(Self.all.count >= 10)
  }
}
