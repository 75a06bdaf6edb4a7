#if AsyncHTTPClient
public import AsyncHTTPClient
import Foundation
import NIOCore
import NIOFoundationCompat
public import NIOSSL
import NIOHTTP1
import Synchronization
public import OAuthLogin

/// The HTTP client of logins on AsyncHTTPClient, for programs that have SwiftNIO anyway.
///
/// ```swift
/// let http = AsyncOAuthHTTPClient()
/// let client = OAuthClient(issuer: "https://login.example.com", clientID: "shop", http: http)
/// ```
///
/// It has an `HTTPClient` of its own, because a program's may follow redirects, keep connections
/// and pass traces on:
/// - No redirect is followed: a code or a token is for the address that it is sent to.
/// - Each connection has one request. On a connection that was kept a request fails when the server
///   closes it at that moment, and whether the server has taken the refresh token is then unknown.
/// - A server has 64 connections by default, as many as sessions refresh at a time; the default of
///   AsyncHTTPClient, 8, made 150 refreshes at a server that takes two seconds last six times as
///   long.
/// - TLS is 1.2 or newer, and the server's certificate is checked, whatever a given configuration
///   says.
/// - Nothing is logged or traced, and the login server gets no trace header.
public struct AsyncOAuthHTTPClient: OAuthHTTPClient {
  private let client: HTTPClient
  private let timeout: Duration
  private let maximumByteCount: Int
  private let hasProxy: Bool

  /// Makes a client, which must be shut down.
  ///
  /// - Parameters:
  ///   - timeout: How long a request may take, from connecting to the end of the answer.
  ///   - maximumByteCount: How many bytes the body of an answer may have.
  ///   - maximumConnectionCount: How many requests a server gets at the same time; more wait.
  ///   - proxy: The proxy for all requests; none by default, whatever the environment says.
  ///   - tls: The authorities that are trusted, and the like; the system's by default.
  public init(
    timeout: Duration = .seconds(30), maximumByteCount: Int = 1 << 18,
    maximumConnectionCount: Int = 64, proxy: HTTPClient.Configuration.Proxy? = nil,
    tls: TLSConfiguration = .makeClientConfiguration()
  ) {
    var tls = tls
    tls.certificateVerification = .fullVerification
    if tls.minimumTLSVersion != .tlsv13 { tls.minimumTLSVersion = .tlsv12 }
    var configuration = HTTPClient.Configuration(
      tlsConfiguration: tls, redirectConfiguration: .disallow, proxy: proxy)
    configuration.httpVersion = .http1Only
    configuration.maximumUsesPerConnection = 1
    // An error comes at once; sessions try again themselves.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = maximumConnectionCount
    configuration.tracing.tracer = nil
    client = HTTPClient(configuration: configuration)
    self.timeout = timeout
    self.maximumByteCount = maximumByteCount
    hasProxy = proxy != nil
  }

  /// Ends all requests, and releases the client.
  ///
  /// - Throws: What AsyncHTTPClient throws, such as when it was shut down before.
  public func shutdown() async throws {
    try await client.shutdown()
  }

  /// Sends one request.
  ///
  /// - Throws: `OAuthHTTPError`, which quotes nothing that was sent or received.
  public func send(_ request: OAuthHTTPRequest) async throws -> OAuthHTTPResponse {
    guard !hasProxy || request.url.scheme == "https" else {
      throw OAuthHTTPError(
        OAuthHTTPError.insecure, wasSent: false,
        reason: "a request without TLS would be readable for the proxy")
    }
    // One timeout for the whole answer, because AsyncHTTPClient's own ends with the head.
    let received = Received()
    return try await withThrowingTaskGroup(of: OAuthHTTPResponse.self) { group in
      group.addTask { try await answer(to: request, keepingIn: received) }
      group.addTask {
        do {
          try await Task.sleep(for: timeout)
        } catch {
          throw OAuthHTTPError(OAuthHTTPError.cancelled, reason: "the request was cancelled")
        }
        throw OAuthHTTPError(.timedOut, after: received.answer.withLock(\.self))
      }
      defer { group.cancelAll() }
      guard let response = try await group.next() else { throw CancellationError() }
      return response
    }
  }

  private func answer(
    to request: OAuthHTTPRequest, keepingIn received: Received
  ) async throws -> OAuthHTTPResponse {
    var message = HTTPClientRequest(url: request.url.absoluteString)
    message.method = HTTPMethod(rawValue: request.method)
    message.headers = HTTPHeaders(request.headers.map { ($0.key, $0.value) })
    message.body = request.body.map { .bytes($0) }
    do {
      let response = try await client.execute(message, timeout: TimeAmount(timeout))
      let headers = Dictionary(response.headers.map { ($0.name, $0.value) }) { first, _ in first }
      func answer(_ body: Data) -> OAuthHTTPResponse {
        OAuthHTTPResponse(status: Int(response.status.code), headers: headers, body: body)
      }
      var body = Data()
      received.answer.withLock { $0 = answer(body) }
      for try await part in response.body {
        guard body.count + part.readableBytes <= maximumByteCount else {
          throw NIOTooManyBytesError(maxBytes: maximumByteCount)
        }
        body.append(Data(buffer: part))
        received.answer.withLock { $0 = answer(body) }
      }
      return answer(body)
    } catch {
      throw OAuthHTTPError(error, after: received.answer.withLock(\.self))
    }
  }
}

/// What has arrived of an answer.
private final class Received: Sendable {
  let answer = Mutex<OAuthHTTPResponse?>(nil)
}
#endif
