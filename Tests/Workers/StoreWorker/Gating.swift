import Foundation
import SealedStore
import SessionAuthentication
import SessionToolsBase

/// `gate DIRECTORY KEYFILE SEED PASSPHRASEFILE`: uses a store behind a gate that asks for its
/// passphrase.
///
/// Waits for a line after each step, while a test inspects its memory.
func useGate() async throws {
  let store = try makeSeededStore()
  _ = try store.addSlot(try passphraseFile())
  let name = try ItemName("item", in: "worker")
  try await store.put(SecretBytes(utf8: "value"), for: name)
  let gate = AuthenticationGate(PassphraseAuthenticator(of: store, prompt: FilePrompt())) {
    AuthenticationRequest(reason: "open the store")
  }
  wait("before")
  gate.attach(.keys(of: store))
  wait("locked")
  try await gate.authenticate()
  _ = try await store.value(for: name)
  wait("open")
  gate.handle(.sessionLocked)
  wait("locked by the desktop")
  try await gate.authenticate()
  wait("open again")
  gate.handle(.willSleep)
  wait("asleep")
  withExtendedLifetime((store, gate)) {}
}

/// A prompt that answers with the passphrase in a file.
private struct FilePrompt: AuthenticationPrompt {
  func answer(
    to question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    guard let passphrase = try? passphraseBytes() else { throw .cancelledByPerson }
    return passphrase
  }

  func show(_ message: AuthenticationMessage) async {}
}

private func passphraseFile() throws -> Passphrase {
  try Passphrase(utf8: passphraseBytes(), cost: .fixed(passes: 1, memoryByteCount: 8 << 20))
}

private func passphraseBytes() throws -> SecretBytes {
  try SecretFile.read(argument(4), maximumByteCount: 100, rule: .privateFile)
}
