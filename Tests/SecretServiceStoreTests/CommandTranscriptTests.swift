import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport
import Testing

/// `session-tools` on a bus of its own, with gnome-keyring, KWallet, KeePassXC or no provider.
@Suite(.fewAtATime) struct CommandTranscriptTests {
  private static let all = Transcript.all(of: "SecretServiceStoreTests")

  @Test(arguments: all)
  func `the tool answers as written`(_ transcript: Transcript) async throws {
    let bus = try await PrivateBus()
    let tool = try Tool()
    let environment = bus.environment.filter { tool.environment[$0.key] == nil }
    let keyring: (any RunningKeyring)? =
      switch transcript.description {
      case "no-provider", "rejected", "sealed-keyring": nil
      case "kwallet", "kwallet-imports": try await KWallet(on: bus)
      case "keepassxc-imports": try await KeePassXC(on: bus)
      case "keepassxc-two": try await KeePassXC(on: bus, second: "home")
      default: try await GnomeKeyring(on: bus)
      }
    let replayed = try await onThread {
      try transcript.replayed(by: tool, environment: environment)
    }
    withExtendedLifetime((bus, keyring)) {}
    if Transcript.isBeingUpdated { return try transcript.replace(with: replayed) }
    #expect(replayed == transcript.lines)
  }

  @Test func `there are transcripts`() {
    #expect(Self.all.count == 12)
  }
}
