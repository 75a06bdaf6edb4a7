public import OAuthLogin

/// An HTTP client that uses libcurl and keeps nothing: no cookies, cache, credentials or
/// connections, and that follows no redirects.
///
/// All clients of a process share one thread, which sends up to 64 requests at the same time;
/// further requests wait, which counts toward their timeout. Proxies are taken from the
/// environment, as by `curl`, except for plain `http`, which is only for this machine; and so are
/// the trusted certificates, from `CURL_CA_BUNDLE`, `SSL_CERT_FILE` and `SSL_CERT_DIR`. Compressed
/// answers are not asked for, and decoded nevertheless.
public struct CurlHTTPClient: OAuthHTTPClient {
  /// How long a request may take in all.
  public let timeout: Duration
  /// The largest body that is read, in bytes.
  public let maximumByteCount: Int

  /// Makes a client; opens nothing.
  ///
  /// - Parameters:
  ///   - timeout: How long a request may take in all; 30 s by default, at most a year.
  ///   - maximumByteCount: The largest body that is read; 256 KiB by default. No more than this and
  ///     64 KiB of header fields is ever in memory; decoding may take a hundred times as much.
  public init(timeout: Duration = .seconds(30), maximumByteCount: Int = 1 << 18) {
    self.timeout = timeout
    self.maximumByteCount = maximumByteCount
  }

  /// Sends one request over a connection of its own.
  ///
  /// - Throws: `timedOut` after ``timeout``, `tooLarge` as soon as the server announces or sends
  ///   more, `nameNotFound`, `untrusted`, `insecure`, `proxyUnreachable` or `proxyRefused`,
  ///   `noResponse` when the server cannot be reached for another reason or the connection breaks,
  ///   `cancelled` at once when the task is cancelled.
  public func send(_ request: OAuthHTTPRequest) async throws -> OAuthHTTPResponse {
    // Limited, because libcurl counts in milliseconds.
    let longest = Duration.seconds(365 * 86_400)
    let transfer = CurlTransfer(
      request, deadline: .now + min(timeout, longest), maximumByteCount: maximumByteCount)
    return try await CurlTransfers.shared.send(transfer).get()
  }
}
