import Foundation
import SessionToolsSoftwareKeys
import SessionToolsTestSupport
import SessionToolsTestThreads
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
    // Its only key has no PIN, because a transcript has no terminal to ask at.
    let keys = transcript.description == "security-keys" ? [try SoftwareKey(pin: "")] : []
    let environment =
      keys.isEmpty
      ? Self.environment : SoftwareKey.environment(of: keys).merging(Self.environment) { $1 }
    // A key is unplugged when its last reference is gone.
    let replayed = try withExtendedLifetime(keys) {
      try transcript.replayed(
        by: Tool(), environment: environment, naming: keys.map { ($0.path, "[KEY]") })
    }
    if Transcript.isBeingUpdated { return try transcript.replace(with: replayed) }
    #expect(replayed == transcript.lines)
  }

  @Test func thereAreTranscripts() {
    #expect(Self.all.count >= 10)
  }
}
