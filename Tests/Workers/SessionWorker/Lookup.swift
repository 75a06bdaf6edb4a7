import Foundation
import SessionToolsBase
import WebLogin

/// Gives up a request to a host whose name lookup never ends, and sends one to another host.
func askDuringLookup(at address: String) async throws {
  // Both requests are sent on one thread, which may be stuck.
  Task.detached {
    try await Task.sleep(for: .seconds(60))
    say("stuck")
    exit(1)
  }
  do {
    _ = try await credential(from: "https://hangs.test", within: .milliseconds(200))
  } catch WebLoginError.answerTimedOut {
    say("gave up")
  }
  _ = try await credential(from: address, within: .seconds(300))
  say("answered")
}

private func credential(
  from address: String, within timeout: Duration
) async throws -> OAuthCredential {
  let server = try AuthorizationServer(
    issuer: address, authorizationEndpoint: nil, tokenEndpoint: address + "/token")
  let client = OAuthClient(
    server: server, clientID: "lookup", http: CurlHTTPClient(timeout: timeout))
  return try await client.refresh(
    OAuthCredential(accessToken: "access", refreshToken: "refresh-0-0", expirationDate: nil))
}
