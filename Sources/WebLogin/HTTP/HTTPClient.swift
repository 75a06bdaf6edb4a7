public import Foundation

/// Sends the requests of a login: to the server's metadata, its token endpoint and the like.
///
/// ``CurlHTTPClient`` is used unless a program brings its own, such as one that speaks to a
/// proxy or records what is sent; <doc:OtherHTTPClient> has one on AsyncHTTPClient.
///
/// What a client of your own has to keep:
/// - It follows no redirect: the answer to a redirect is that status. The requests hold codes and
///   tokens, which are for nobody but the address that they are sent to.
/// - It neither keeps nor sends cookies, caches nothing, and sends no request twice.
/// - It logs neither bodies nor headers.
/// - It reads no more than some size, holds no thread while it waits, and ends within some time, and
///   at once when the task is cancelled.
public protocol HTTPClient: Sendable {
  /// Sends one request.
  ///
  /// - Returns: The answer, whatever its status.
  /// - Throws: What kept the server from answering. An ``HTTPError`` can say that nothing was sent;
  ///   after any other error that is not known.
  func send(_ request: HTTPRequest) async throws -> HTTPResponse
}

/// A request of a login; descriptions and dumps show its method and host, and nothing else.
public struct HTTPRequest: Sendable {
  /// `GET` or `POST`.
  public let method: String
  /// Where it is sent.
  public let url: URL
  /// The header fields; may hold a client's secret.
  public let headers: [String: String]
  /// What is posted, form-encoded; holds codes and tokens.
  public let body: Data?

  init(method: String, url: URL, headers: [String: String], body: Data? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// The answer to an ``HTTPRequest``; descriptions and dumps show its status, and nothing else.
public struct HTTPResponse: Sendable {
  /// The status code.
  public let status: Int
  /// The body; may hold tokens.
  public let body: Data
  private let headers: [String: String]

  /// Makes an answer, for clients of a program's own.
  public init(status: Int, headers: [String: String], body: Data) {
    self.status = status
    self.headers = Dictionary(headers.map { ($0.lowercased(), $1) }) { first, _ in first }
    self.body = body
  }

  /// The value of a header field, whatever its case.
  public subscript(name: String) -> String? { headers[name.lowercased()] }
}

extension HTTPRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The method and the host.
  public var description: String { "[\(method) to \(url.host() ?? "nowhere")]" }
  /// The method and the host.
  public var debugDescription: String { description }
  /// No children: a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The status.
  public var description: String { "[status \(status)]" }
  /// The status.
  public var debugDescription: String { description }
  /// No children: a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
