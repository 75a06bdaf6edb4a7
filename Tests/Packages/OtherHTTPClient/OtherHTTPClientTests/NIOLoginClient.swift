import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import WebLogin

/// Sends the requests of logins by AsyncHTTPClient.
struct NIOLoginClient: OAuthHTTPClient {
  private let client: HTTPClient
  private let timeout: Duration
  private let maximumByteCount: Int

  init(timeout: Duration = .seconds(30), maximumByteCount: Int = 1 << 20) {
    var configuration = HTTPClient.Configuration()
    // A code or a token is for the address that it is sent to, and for no other.
    configuration.redirectConfiguration = .disallow
    configuration.httpVersion = .http1Only
    configuration.connectionPool.retryConnectionEstablishment = false
    client = HTTPClient(configuration: configuration)
    self.timeout = timeout
    self.maximumByteCount = maximumByteCount
  }

  /// Closes the client; must be called before the last reference is released.
  func shutdown() async throws {
    try await client.shutdown()
  }

  func send(_ request: OAuthHTTPRequest) async throws -> OAuthHTTPResponse {
    // A timeout for the whole answer, because AsyncHTTPClient's own ends with the head.
    try await withThrowingTaskGroup(of: OAuthHTTPResponse.self) { group in
      group.addTask { try await answer(to: request) }
      group.addTask {
        try await Task.sleep(for: timeout)
        throw OAuthHTTPError(.timedOut, reason: "the server did not answer in time")
      }
      defer { group.cancelAll() }
      guard let response = try await group.next() else { throw CancellationError() }
      return response
    }
  }

  private func answer(to request: OAuthHTTPRequest) async throws -> OAuthHTTPResponse {
    var message = HTTPClientRequest(url: request.url.absoluteString)
    message.method = HTTPMethod(rawValue: request.method)
    message.headers = HTTPHeaders(request.headers.map { ($0.key, $0.value) })
    message.body = request.body.map { .bytes($0) }
    var status: Int?
    do {
      let response = try await client.execute(message, timeout: TimeAmount(timeout))
      status = Int(response.status.code)
      // Reads no more than this: a larger answer is dropped with its connection.
      let body = try await response.body.collect(upTo: maximumByteCount)
      return OAuthHTTPResponse(
        status: Int(response.status.code),
        headers: Dictionary(
          response.headers.map { ($0.name.lowercased(), $0.value) },
          uniquingKeysWith: { first, _ in first }),
        body: Data(body.readableBytesView))
    } catch {
      throw OAuthHTTPError(error, after: status)
    }
  }
}

extension OAuthHTTPError {
  /// Converts an error to WebLogin's, without quoting it.
  fileprivate init(_ error: any Error, after status: Int?) {
    let failure = error as? HTTPClientError
    let isRefused = (error as? IOError)?.errnoCode == ECONNREFUSED
    let unsent: [HTTPClientError?] = [
      .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout, .alreadyShutdown,
    ]
    switch error {
    case is NIOTooManyBytesError, HTTPParserError.headerOverflow:
      self.init(
        OAuthHTTPError.tooLarge, status: status, reason: "the answer is larger than it may be")
    case _ where failure == .deadlineExceeded || failure == .readTimeout:
      self.init(
        OAuthHTTPError.timedOut, status: status, reason: "the server did not answer in time")
    case _ where failure == .proxyAuthenticationRequired:
      self.init(
        OAuthHTTPError.proxyRefused, wasSent: false, reason: "the proxy asks for a password")
    case _ where error is CancellationError || failure == .cancelled:
      self.init(OAuthHTTPError.cancelled, reason: "the request was cancelled")
    case _ where error is NIOConnectionError || isRefused || unsent.contains(failure):
      // Without a connection nothing was sent, so a refresh token is not spent.
      self.init(
        OAuthHTTPError.noResponse, wasSent: false, reason: "there is no connection to the server")
    default:
      self.init(OAuthHTTPError.noResponse, status: status, reason: "the connection broke")
    }
  }
}
