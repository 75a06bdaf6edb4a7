import Foundation
import Testing

@Suite struct TranscriptTests {
  @Test(arguments: Transcript.all)
  func answersAsWritten(_ transcript: Transcript) throws {
    let replayed = try transcript.replayed()
    if ProcessInfo.processInfo.environment["UPDATE_TRANSCRIPTS"] != nil {
      return try transcript.replace(with: replayed)
    }
    #expect(replayed == transcript.lines)
  }

  @Test func thereAreTranscripts() {
    #expect(Transcript.all.count >= 10)
  }
}
