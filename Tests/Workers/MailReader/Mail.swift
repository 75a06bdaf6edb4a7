#if GTKScenes
import Foundation
import GTKScenes
import LinuxAuthentication
import SealedStore
import SessionAuthentication
import SessionToolsBase
import WebLogin

/// The person's session, in a store under a passphrase, behind a gate.
final class Mail: Sendable {
  let prompt = CoverPrompt()
  let gate: AuthenticationGate
  let session: UserSession<OAuthCredential>
  private let client: OAuthClient

  init(issuer: String) throws {
    let home = ProcessInfo.processInfo.environment["XDG_DATA_HOME"]
    let path = (home ?? "\(NSHomeDirectory())/.local/share") + "/mail-reader"
    let key = try Passphrase("open sesame", cost: .fixed(passes: 1, memoryByteCount: 64 << 20))
    let store: SealedFileStore =
      try SealedFileStore.exists(at: path) ? .open(at: path, key: key) : .create(at: path, key: key)
    gate = AuthenticationGate(PassphraseAuthenticator(of: store, prompt: prompt)) {
      AuthenticationRequest(reason: "show your mail")
    }
    gate.attach(.keys(of: store))
    client = OAuthClient(issuer: issuer, clientID: "app")
    session = UserSession(
      container: GuardedContainer(
        try StoreContainer(store, service: "com.example.mail"), behind: gate),
      storageIdentifier: "login", refresher: client.refresher())
    // A desktop without one of the services does not report locks by it.
    Task { [gate] in try? await gate.follow(LogindSource()) }
    Task { [gate] in try? await gate.follow(ScreenSaverSource()) }
  }

  func signIn() async throws {
    let credential = try await WebAuthenticationSession(client: client, scopes: ["mail"]).start()
    say("The browser is back")
    // The windows may be covered, locked, hidden or minimized: the result waits for the person.
    try await gate.whenAuthenticated { try await session.signIn(credential) }
    say("Signed in")
  }

  func signOut() async throws {
    try await session.signOut(revokingWith: client)
    say("Signed out")
  }
}

/// Calls a closure, and reports an error to the person at the terminal.
func attempt(_ body: @escaping @Sendable () async throws -> Void) {
  Task { do { try await body() } catch { say("\(error)") } }
}

func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }
#endif
