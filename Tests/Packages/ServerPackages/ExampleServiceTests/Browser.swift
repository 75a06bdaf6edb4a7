import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Browsers of people who log in to the service.
struct Browser: Sendable {
  let client: HTTPClient

  init() {
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    // A balancer tries the other instance at once.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
    client = HTTPClient(configuration: configuration)
  }

  struct Answer: Sendable {
    let status: Int
    let location: String?
    let cookies: [String]
    let body: String
  }

  struct Unexpected: Error {
    let step: String
    let answer: Answer
  }

  func send(
    _ method: HTTPMethod = .GET, _ address: String, cookies: [String] = [], form: String? = nil
  ) async throws -> Answer {
    var request = HTTPClientRequest(url: address)
    request.method = method
    if !cookies.isEmpty {
      request.headers.add(name: "Cookie", value: cookies.joined(separator: "; "))
    }
    if let form {
      request.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
      request.body = .bytes(ByteBuffer(string: form))
    }
    let response = try await client.execute(request, timeout: .minutes(10))
    let body = try await response.body.collect(upTo: 1 << 20)
    return Answer(
      status: Int(response.status.code), location: response.headers.first(name: "Location"),
      cookies: response.headers["Set-Cookie"].map { String($0.prefix { $0 != ";" }) },
      body: String(buffer: body))
  }

  /// Logs a person in as a browser would, and returns the cookie of the session.
  func signIn(_ user: String, at service: String) async throws -> String {
    let begin = try await send(.GET, "\(service)/login")
    guard begin.status == 303, let place = begin.location else {
      throw Unexpected(step: "login", answer: begin)
    }
    let form = "user=\(user)&password=open+sesame&answer=allow"
    let allowed = try await send(.POST, place, form: form)
    guard let callback = allowed.location else { throw Unexpected(step: "form", answer: allowed) }
    let end = try await send(.GET, callback, cookies: begin.cookies)
    guard end.status == 303, let cookie = end.cookies.first(where: { $0.hasPrefix("session=") })
    else { throw Unexpected(step: "callback", answer: end) }
    return cookie
  }
}
