import Foundation
import TestSupport
import TestThreads
import Testing

@Suite(.onOwnThread) struct TranscriptTests {
  /// A sanitizer reserves more address space than one transcript allows.
  private static let all = Transcript.all(of: "CommandTests").filter {
    !isSanitized || $0.description != "pass-address-space"
  }

  /// Where Python finds keyring and its file, which Tests/run installs.
  private static var environment: [String: String] {
    let packages = ProcessInfo.processInfo.environment["SESSION_TOOLS_KEYRING_PACKAGES"]
    return ["PYTHONPATH": packages ?? ""]
  }

  @Test(arguments: all)
  func answersAsWritten(_ transcript: Transcript) throws {
    let replayed = try transcript.replayed(by: Tool(), environment: Self.environment)
    if Transcript.isBeingUpdated { return try transcript.replace(with: replayed) }
    #expect(replayed == transcript.lines)
  }

  @Test func thereAreTranscripts() {
    #expect(Self.all.count >= 10)
  }
}
