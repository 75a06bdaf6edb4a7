public import Foundation

/// An HTTP client for logins: for the server's metadata, its token endpoint and the like.
///
/// `CurlHTTPClient` of the product `WebLogin`, and `AsyncOAuthHTTPClient` of
/// `SessionToolsAsyncHTTPClient` conform; a program may have its own (<doc:OtherHTTPClient>).
///
/// Your own client must meet these requirements:
/// - It follows no redirect: the answer to a redirect is that status. The requests contain codes
///   and tokens, which are only for the address that they are sent to.
/// - It neither stores nor sends cookies, caches nothing, and sends no request twice.
/// - It logs neither bodies nor headers.
/// - It limits how much it reads, blocks no thread while it waits, and ends within a limited time,
///   and at once when the task is cancelled.
public protocol OAuthHTTPClient: Sendable {
  /// Sends one request.
  ///
  /// - Returns: The answer, whatever its status.
  /// - Throws: The error that kept the server from answering. An ``OAuthHTTPError`` can state that
  ///   nothing was sent; after any other error the request may have been sent.
  func send(_ request: OAuthHTTPRequest) async throws -> OAuthHTTPResponse
}

/// A request of a login; descriptions and dumps show only its method and host.
public struct OAuthHTTPRequest: Sendable {
  /// `GET` or `POST`.
  public let method: String
  /// The address that it is sent to.
  public let url: URL
  /// The header fields; may contain a client's secret.
  public let headers: [String: String]
  /// The form-encoded body; contains codes and tokens.
  public let body: Data?

  package init(method: String, url: URL, headers: [String: String], body: Data? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// The answer to an ``OAuthHTTPRequest``; descriptions and dumps show only its status.
public struct OAuthHTTPResponse: Hashable, Sendable {
  /// The status code.
  public let status: Int
  /// The body; may contain tokens.
  public let body: Data
  private let headers: [String: String]

  /// Makes an answer, for a program's own HTTP clients.
  public init(status: Int, headers: [String: String], body: Data) {
    self.status = status
    self.headers = Dictionary(headers.map { ($0.lowercased(), $1) }) { first, _ in first }
    self.body = body
  }

  /// The value of a header field, whatever the case of its name.
  public subscript(name: String) -> String? { headers[name.lowercased()] }
}

extension OAuthHTTPRequest: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The method and the host.
  public var description: String { "[\(method) to \(url.host() ?? "nowhere")]" }
  /// The method and the host.
  public var debugDescription: String { description }
  /// No children, so that a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OAuthHTTPResponse: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The status.
  public var description: String { "[status \(status)]" }
  /// The status.
  public var debugDescription: String { description }
  /// No children, so that a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
