import Foundation
import FoundationNetworking
import SessionToolsBase

/// The credentials that the server issued for a sign-in.
struct Credentials: Codable, Sendable {
  let access: String
  let refresh: String
  /// The number of refreshes before.
  let sequence: Int
}

/// The server's error for a refresh token that it no longer accepts.
struct InvalidGrant: Error {}

/// Talks to the authorization server of the tests.
struct AuthorizationClient: Sendable {
  private struct Answer: Decodable {
    var access_token: String?
    var refresh_token: String?
    var error: String?
  }

  private struct Profile: Decodable {
    var isLast: Bool?
  }

  struct UnexpectedAnswer: Error {
    let status: Int
  }

  private let address: String
  private let connections = URLSession(configuration: .ephemeral)

  init(_ address: String) {
    self.address = address
  }

  func signIn() async throws -> Credentials {
    try await credentials(
      from: "grant_type=password&username=ada&password=open%20sesame&client_id=app", sequence: 0)
  }

  /// - Throws: ``InvalidGrant``, or the error that kept the server from answering.
  func refresh(_ credentials: Credentials) async throws -> Credentials {
    try await self.credentials(
      from: "grant_type=refresh_token&refresh_token=\(credentials.refresh)&client_id=app",
      sequence: credentials.sequence + 1)
  }

  private func credentials(from form: String, sequence: Int) async throws -> Credentials {
    var request = try request("/token")
    request.httpMethod = "POST"
    request.httpBody = Data(form.utf8)
    request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
    let (data, response) = try await send(request)
    let answer = try JSONDecoder().decode(Answer.self, from: data)
    if answer.error == "invalid_grant" { throw InvalidGrant() }
    guard let access = answer.access_token, let refresh = answer.refresh_token else {
      throw UnexpectedAnswer(status: status(of: response))
    }
    return Credentials(access: access, refresh: refresh, sequence: sequence)
  }

  /// Returns whether this was the last request, or `nil` if the access token is not accepted.
  func isLast(_ credentials: Credentials) async throws -> Bool? {
    var request = try request("/me")
    request.setValue("Bearer \(credentials.access)", forHTTPHeaderField: "Authorization")
    let (data, response) = try await send(request)
    if status(of: response) == 401 { return nil }
    return try JSONDecoder().decode(Profile.self, from: data).isLast ?? false
  }

  /// Sends a request in a task of its own: Foundation may block or crash when one is cancelled.
  private func send(_ request: URLRequest) async throws -> (Data, URLResponse) {
    try await Task { try await connections.data(for: request) }.value
  }

  private func request(_ path: String) throws -> URLRequest {
    guard let url = URL(string: address + path) else { throw UnexpectedAnswer(status: 0) }
    return URLRequest(url: url)
  }

  private func status(of response: URLResponse) -> Int {
    (response as? HTTPURLResponse)?.statusCode ?? 0
  }
}

/// Returns the session that all processes share.
///
/// Its credentials are due until there were `refreshCount` refreshes. The closure is called with
/// each request and a closure that sends it.
func session(
  in store: some SecretStore, of server: AuthorizationClient, until refreshCount: Int = 0,
  around:
    @escaping @Sendable (
      RefreshRequest<Credentials>, () async throws -> Credentials
    ) async throws -> Credentials = { try await $1() }
) throws -> UserSession<Credentials> {
  let refresher = SessionRefresher<Credentials>(
    expiration: { $0.sequence < refreshCount ? Date() + 30 : nil }
  ) { request in
    do {
      return .refreshed(
        try await around(request) { try await server.refresh(request.item) })
    } catch let error as InvalidGrant {
      return .rejected(error)
    }
  }
  return UserSession(
    container: try StoreContainer<Credentials>(store, service: "worker"),
    storageIdentifier: "credentials", refresher: refresher)
}
